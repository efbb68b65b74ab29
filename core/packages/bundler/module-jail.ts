import type {
  OnLoadResult,
  OnResolveArgs,
  OnResolveResult,
  PartialMessage,
  Plugin as EsbuildPlugin,
  PluginBuild,
} from "esbuild";
import { realpath, stat } from "../../ground/platform/files/files.ts";
import {
  basename,
  dirname,
  extname,
  isAbsolute,
  isBelow,
  join,
  relative,
  sep,
  wayUp,
} from "../../ground/platform/files/paths.ts";
import { sha256Hex } from "../../ground/platform/files/hash.ts";
import { readPlainFile } from "../../ground/platform/files/read-plain-file.ts";
import { Turns } from "../../ground/platform/engine/turns.ts";
import { codeExtensions } from "../manifest/code-extensions.ts";
import { filesAtOnce, type InputNotes } from "./bundle-inputs.ts";
import type { SourceLimits } from "./bundle-order.ts";
import type { FileHashes } from "../manifest/installed-files.ts";
import { moduleNamespace } from "./script-positions.ts";
import { sdkName } from "./sdk-name.ts";
import { moduleSubstitute } from "./substitutes.ts";
import { findTooDeep } from "./source-depth.ts";

/** Options of {@link moduleJail}. */
interface JailOptions {
  /** Real absolute path of the package. */
  folder: string;
  /** Other `node_modules` folders where the packages that it names are looked for. */
  nodeModules: readonly string[];
  /** Path of the entry in the package, or the source of one that is no file. */
  entry: { path: string } | { source: string };
  limits: SourceLimits;
  /** Absolute paths of the contract's entry and of its schema library. */
  contract: { entry: string; typebox: string };
  /** Takes all that the bundle depends on. */
  notes: InputNotes;
  /** Hashes of an installed package's files; other files are refused. */
  hashes?: FileHashes | undefined;
}

/**
 * Ends every module. The bundler reads any file on disk that a comment names as its source map, and heeds the last such
 * comment: this one names none.
 */
const noSourceMap = "\n//# sourceMappingURL=none";

/** Maximum bytes of a `package.json`. */
const mostPackageBytes = 1024 * 1024;

/** Modules of one bundle, each of which costs the host a look at every start: as many as a package may have files. */
const mostModules = 5000;

/** A limit that a source file is over, as the detail of the bundler's error. */
export class OverLimit {
  readonly limit: string;
  readonly most: number;
  readonly file: string;

  constructor(limit: string, { most, file }: { most: number; file: string }) {
    this.limit = limit;
    this.most = most;
    this.file = file;
  }
}

/** Name of the entry that stands for a manifest, which has no code. */
export const manifestEntry = "plugin.yaml";

/**
 * Resolves every import of a bundle and refuses those that lead out: relative ones must stay in the package, links
 * followed; bare ones are the contract and what the importing package names as its dependencies.
 */
export function moduleJail(options: JailOptions): EsbuildPlugin {
  return {
    name: "module-jail",
    setup(build) {
      const jail = new Jail(build, options);
      build.onResolve({ filter: /.*/ }, (args) => jail.resolve(args));
      build.onLoad({ filter: /.*/, namespace: moduleNamespace }, ({ path }) => jail.load(path));
    },
  };
}

/** A package whose code is being bundled. */
interface Package {
  kind: "plugin" | "contract" | "dependency";
  /** Real absolute path. */
  folder: string;
}

interface Module {
  /** Real absolute path. */
  path: string;
  owner: Package;
}

/** Tells our own questions to the bundler's resolver from imports. */
const ours = Symbol("asked by the jail");

class Jail {
  readonly #build: PluginBuild;
  readonly #options: JailOptions;
  readonly #plugin: Package;
  readonly #contract: Package;
  readonly #modules = new Map<string, Module>();
  readonly #reads = new Turns(filesAtOnce);
  #bytes = 0;
  #loaded = 0;

  constructor(build: PluginBuild, options: JailOptions) {
    this.#build = build;
    this.#options = options;
    this.#plugin = { kind: "plugin", folder: options.folder };
    this.#contract = { kind: "contract", folder: dirname(options.contract.entry) };
  }

  async resolve(args: OnResolveArgs): Promise<OnResolveResult | undefined> {
    if (args.pluginData === ours) return undefined;
    try {
      if (args.kind === "entry-point") return await this.#entry();
      const from = this.#modules.get(args.importer)!;
      if (from.owner.kind === "contract") return this.#contractModule(args, from);
      checkForm(args);
      if (isRelative(args.path) || args.path.startsWith("#")) return await this.#within(args, from);
      if (args.path === sdkName && from.owner.kind === "plugin") {
        return this.#take({ path: this.#options.contract.entry, sideEffects: false }, this.#contract);
      }
      return await this.#dependency(args, from.owner);
    } catch (error) {
      if (error instanceof Refusal) return { errors: [{ text: error.message }] };
      throw error;
    }
  }

  async load(name: string): Promise<OnLoadResult> {
    const { entry, notes } = this.#options;
    if (name === manifestEntry && "source" in entry) return { contents: entry.source, loader: "js" };
    const module = this.#modules.get(name);
    if (!module) return { errors: [{ text: `Cannot bundle ${name}: it was not resolved.` }] };
    const read = await this.#reads.take("module", () => this.#read(name, module));
    if (!(read instanceof Uint8Array)) return { errors: [read] };
    const loader = /\.[cm]?ts$/.test(name) ? "ts" : name.endsWith(".json") ? "json" : "js";
    if (!this.#isLocked(module, read)) {
      return { errors: [{ text: `Cannot bundle ${name}: it is not the file that was installed.` }] };
    }
    notes.module(module.path, read);
    const text = new TextDecoder().decode(read);
    const deep = findTooDeep(text, this.#options.limits.depth);
    if (deep !== null) return { errors: [tooDeep(name, { text, at: deep, most: this.#options.limits.depth })] };
    return { contents: loader === "json" ? text : `${text}${noSourceMap}`, loader };
  }

  /** The bytes of a module, when they are within the limits. */
  async #read(name: string, { path }: Module): Promise<Uint8Array | PartialMessage> {
    const { fileBytes, bytes: most } = this.#options.limits;
    const file = await stat(path);
    if (!file.isFile()) return { text: `Cannot bundle ${name}: it is no file.` };
    if (++this.#loaded > mostModules) {
      return { text: `Cannot bundle ${name}: a plugin has at most ${mostModules} modules.` };
    }
    if (file.size > fileBytes) {
      const text = `Cannot bundle ${name}: it has ${file.size} bytes, and at most ${fileBytes} are allowed`;
      return { text, detail: new OverLimit("source_file_bytes", { most: fileBytes, file: name }) };
    }
    this.#bytes += file.size;
    if (this.#bytes > most) {
      const text = `Cannot bundle ${name}: with it the source has more than ${most} bytes`;
      return { text, detail: new OverLimit("source_bytes", { most, file: name }) };
    }
    // Between the look and the reading the file may have become another.
    return await readPlainFile(path, file.size) ?? { text: `Cannot bundle ${name}: it changed meanwhile.` };
  }

  /** Whether the bytes to evaluate are the ones that were hashed when the package was installed. */
  #isLocked({ path, owner }: Module, bytes: Uint8Array): boolean {
    const { hashes, folder } = this.#options;
    if (hashes === undefined || owner.kind === "contract") return true;
    return hashes[relative(folder, path).replaceAll(sep, "/")] === sha256Hex(bytes);
  }

  async #entry(): Promise<OnResolveResult> {
    const { entry, folder, notes } = this.#options;
    if ("path" in entry) {
      notes.place(join(folder, entry.path));
      const path = await realFile(join(folder, entry.path), entry.path);
      if (!isBelow(folder, path)) throw outside(entry.path);
      return this.#take({ path, sideEffects: true }, this.#plugin);
    }
    this.#modules.set(manifestEntry, { path: join(folder, manifestEntry), owner: this.#plugin });
    return { path: manifestEntry, namespace: moduleNamespace };
  }

  async #within(args: OnResolveArgs, from: Module): Promise<OnResolveResult> {
    const found = await this.#ask(args, dirname(from.path));
    if (!isBelow(from.owner.folder, found.path)) throw outside(args.path);
    return this.#take(found, from.owner);
  }

  /** Its modules are ours and name each other by their files, so nothing has to be looked for. */
  #contractModule({ path }: OnResolveArgs, from: Module): OnResolveResult {
    const file = isRelative(path) ? join(dirname(from.path), path) : this.#options.contract.typebox;
    return this.#take({ path: file, sideEffects: false }, this.#contract);
  }

  async #dependency(args: OnResolveArgs, from: Package): Promise<OnResolveResult> {
    const name = packageName(args.path);
    this.#options.notes.packages(from.folder);
    await this.#demandPlainPackages(from.folder);
    if (!(await this.#reads.take("package", () => namesDependency(args, from)))) throw notNamed(args.path, name, from);
    for (const base of await this.#bases(name, from)) {
      const found = await this.#ask(args, base);
      const root = await realpath(join(base, "node_modules", name));
      if (!isBelow(root, found.path) || !this.#mayHold(root)) throw outside(args.path);
      return this.#take(found, { kind: "dependency", folder: root });
    }
    throw new Refusal(
      `Cannot import "${args.path}": the package "${name}" is not installed in the plugin's node_modules. ` +
        "A folder above is not looked at; in a workspace, run: npm install --install-strategy=nested",
    );
  }

  /** Folders whose `node_modules` holds the package, nearest first, none outside the jail. */
  async #bases(name: string, from: Package): Promise<string[]> {
    const inside = wayUp(from.folder).filter((folder) =>
      folder === this.#options.folder || isBelow(this.#options.folder, folder) ||
      this.#options.nodeModules.some((root) => isBelow(root, folder))
    );
    const all = [...inside, ...this.#options.nodeModules.map(dirname)];
    const places = all.map((base) => join(base, "node_modules", name));
    for (const place of places) this.#options.notes.place(place);
    const there = await Promise.all(places.map((place) => stat(place).then(() => true, () => false)));
    return all.filter((_, index) => there[index]).slice(0, 1);
  }

  #mayHold(folder: string): boolean {
    return [this.#options.folder, ...this.#options.nodeModules].some((root) => isBelow(root, folder));
  }

  async #ask(args: OnResolveArgs, resolveDir: string): Promise<{ path: string; sideEffects: boolean }> {
    const { notes } = this.#options;
    const place = isRelative(args.path) ? join(resolveDir, args.path) : join(resolveDir, "node_modules", args.path);
    notes.place(place);
    notes.packages(resolveDir);
    await this.#demandPlainPackages(resolveDir, place);
    const found = await this.#build.resolve(args.path, { kind: args.kind, resolveDir, pluginData: ours });
    if (found.errors.length > 0 || found.external || found.namespace !== "file") {
      throw notFound(args.path);
    }
    notes.place(found.path);
    return { path: await realFile(found.path, args.path), sideEffects: found.sideEffects };
  }

  /** The bundler reads each `package.json` on its way: it would wait for a pipe, and hold all of a huge file. */
  async #demandPlainPackages(...places: string[]): Promise<void> {
    for (const folder of new Set(places.flatMap((place) => wayUp(place)))) {
      const found = await stat(join(folder, "package.json")).catch(() => null);
      if (found === null || found.isDirectory() || (found.isFile() && found.size <= mostPackageBytes)) continue;
      const why = found.isFile() ? `has more than ${mostPackageBytes} bytes` : "is no file";
      throw new Refusal(`Cannot read ${join(basename(folder), "package.json")}: it ${why}.`);
    }
  }

  #take(found: { path: string; sideEffects: boolean }, owner: Package): OnResolveResult {
    const extension = extname(found.path);
    if (extension !== ".json" && !codeExtensions.includes(extension)) {
      throw new Refusal(
        `Cannot import "${basename(found.path)}": only TypeScript, JavaScript and JSON can be bundled.`,
      );
    }
    const name = this.#nameOf(found.path, owner);
    this.#modules.set(name, { path: found.path, owner });
    // The contract's modules only declare; without this every adapter would carry all of its schemas.
    return {
      path: name,
      namespace: moduleNamespace,
      sideEffects: owner.kind === "contract" ? false : found.sideEffects,
    };
  }

  /** A name without this machine's paths: it gets into the script, whose hash must be the same everywhere. */
  #nameOf(path: string, owner: Package): string {
    const { folder, nodeModules, contract } = this.#options;
    const under = (root: string) => relative(root, path).split(sep).join("/");
    if (path === contract.typebox) return `${sdkName}/${basename(path)}`;
    if (owner.kind === "contract") return `${sdkName}/${under(owner.folder)}`;
    if (isBelow(folder, path)) return under(folder);
    const index = nodeModules.findIndex((root) => isBelow(root, path));
    return `bulkhead/node_modules${index === 0 ? "" : `_${index}`}/${under(nodeModules[index]!)}`;
  }
}

function tooDeep(file: string, { text, at, most }: { text: string; at: number; most: number }): PartialMessage {
  const line = text.slice(0, at).split("\n").length;
  return {
    text: `Cannot bundle ${file}: the brackets in line ${line} are nested deeper than ${most}`,
    detail: new OverLimit("source_depth", { most, file }),
  };
}

class Refusal extends Error {}

async function realFile(file: string, name: string): Promise<string> {
  try {
    return await realpath(file);
  } catch {
    throw notFound(name);
  }
}

function notFound(path: string): Refusal {
  return new Refusal(`Cannot import "${path}": no such module was found.`);
}

function checkForm({ path, kind, with: attributes }: OnResolveArgs): void {
  const because = (why: string) => new Refusal(`Cannot import "${path}": ${why}`);
  if (kind === "dynamic-import") {
    throw because("a plugin is one script, so imports stand at the top of a module, not in import().");
  }
  if (kind !== "import-statement" && kind !== "require-call") throw because(`${kind} has no meaning in a plugin.`);
  if (path.startsWith("node:")) throw noNodeModule(path, moduleSubstitute(path) ?? "use ctx");
  if (isAbsolute(path) || /^[a-z]:[\\/]/i.test(path)) throw because("an absolute path leads out of the package.");
  if (/^[a-z][a-z0-9+.-]*:/i.test(path) || path.startsWith("//")) {
    throw because("a plugin is bundled from its own files, so nothing is loaded by URL.");
  }
  const odd = Object.entries(attributes).find(([key, value]) => key !== "type" || value !== "json");
  if (odd) throw because(`the import attribute ${odd[0]}: "${odd[1]}" is not known.`);
}

function isRelative(path: string): boolean {
  return /^\.\.?(?:[\\/]|$)/.test(path);
}

function outside(path: string): Refusal {
  return new Refusal(`Cannot import "${path}": it leads out of the package.`);
}

function noNodeModule(path: string, instead: string): Refusal {
  return new Refusal(`Cannot import "${path}": an adapter has no Node modules: ${instead}.`);
}

function notNamed(path: string, name: string, from: Package): Refusal {
  const instead = moduleSubstitute(path);
  if (instead !== null) return noNodeModule(path, instead);
  const whose = from.kind === "plugin" ? "the plugin's" : `the package ${basename(from.folder)}'s`;
  const also = from.kind === "plugin" ? `; beside those it may import "${sdkName}"` : "";
  return new Refusal(
    `Cannot import "${path}": ${whose} package.json does not name "${name}" in its dependencies${also}.`,
  );
}

function packageName(path: string): string {
  return path.split("/").slice(0, path.startsWith("@") ? 2 : 1).join("/");
}

/** The plugin may import its `dependencies`; they may also import their peer and optional dependencies. */
async function namesDependency(args: OnResolveArgs, from: Package): Promise<boolean> {
  const name = packageName(args.path);
  const manifest = await readPackage(join(from.folder, "package.json"));
  const lists = from.kind === "plugin"
    ? ["dependencies"]
    : ["dependencies", "peerDependencies", "optionalDependencies"];
  if (from.kind === "dependency" && manifest["name"] === name) return true;
  return lists.some((list) => {
    const named = manifest[list];
    return typeof named === "object" && named !== null && Object.hasOwn(named, name);
  });
}

async function readPackage(file: string): Promise<Record<string, unknown>> {
  const real = await realpath(file).catch(() => null);
  const bytes = real === null ? null : await readPlainFile(real, mostPackageBytes);
  if (bytes === null) return {};
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    throw new Refusal(`Cannot read ${join(basename(dirname(file)), "package.json")}: it is not JSON.`);
  }
}
