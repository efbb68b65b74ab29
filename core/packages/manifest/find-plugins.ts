import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { Manifest } from "../../../plugin-sdk/manifest.ts";
import { defaultLimits, type Limits } from "../../ground/config/limits.ts";
import { toBulkheadError } from "../../ground/errors/to-error-data.ts";
import { readdir, readFile, realpath, stat } from "../../ground/platform/files/files.ts";
import { basename, fileURLToPath, join } from "../../ground/platform/files/paths.ts";
import { stateFolders } from "../../ground/platform/state/state-folders.ts";
import type { FileHashes } from "./installed-files.ts";
import type { KnownManifests } from "./known-manifests.ts";
import type { Plugin } from "./plugin.ts";
import { manifestName, readManifest } from "./read-manifest.ts";

/** A folder with a `plugin.yaml`; either its manifest or why it cannot be used. */
export interface FoundPlugin {
  /**
   * From the manifest; of a broken one what can still be told, else the folder's name. Where an entry of the host
   * manifest names it as its source, the key of that entry.
   */
  id: string;
  /** Real absolute path. */
  folder: string;
  origin: Plugin["origin"];
  manifest: Manifest | null;
  error: BulkheadError | null;
  /** Name in its `package.json`; absent when the caller did not ask for it. */
  packageName?: string | null;
  /** Hashes of an installed plugin's files, as they are locked. */
  hashes?: FileHashes;
  /** Path by which it was found, where that is another than its folder. */
  place?: string;
}

/** Options of {@link findPlugins}: where the host looks. */
export interface FindPluginsOptions {
  /** Folder of the host manifest. */
  root: string;
  /** Folder of the bundled plugins; null: none. Default: the project's own. */
  bundledDir?: string | null | undefined;
  /** The environment, for the XDG folders; default: the host's own. */
  env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Manifests that need not be parsed again. */
  known?: KnownManifests | undefined;
}

/** Limits of a plugin's manifest. */
export type ManifestLimits = Pick<Limits, "manifest_bytes" | "yaml_aliases">;

/** The project's own `plugins/`: two floors up from the source, three from the build. */
export const ownPluginsDir: string = fileURLToPath(
  new URL(import.meta.url.endsWith(".ts") ? "../../../plugins" : "../../../../plugins", import.meta.url),
);

/**
 * Every plugin that is bundled, installed in the XDG data folder, in `plugins/` beside the host manifest, or in its
 * `node_modules`, in this order. A folder that is reached twice is told once. Never throws for what is in a folder.
 */
export async function findPlugins(
  { root, bundledDir = ownPluginsDir, env, known }: FindPluginsOptions,
  limits: ManifestLimits = defaultLimits,
): Promise<FoundPlugin[]> {
  const [ownFolder, nodeModules] = pluginPlaces(root);
  const places = await Promise.all([
    foldersOf("bundled", bundledDir === null ? [] : packagesIn(bundledDir)),
    foldersOf("installed", packagesIn(join(stateFolders(env).data, "plugins"))),
    foldersOf("folder", packagesIn(ownFolder)),
    foldersOf("installed", installedIn(nodeModules)),
  ]);
  const first = new Map<string, FoundFolder>();
  for (const one of places.flat()) if (!first.has(one.folder)) first.set(one.folder, one);
  return await Promise.all(
    [...first.values()].map(async ({ folder, place, origin }) => ({
      ...await readPlugin(folder, { origin, limits, known }),
      ...(place === folder ? {} : { place }),
    })),
  );
}

/** The folders beside a host manifest in which plugins are looked for: its own and those of npm. */
export function pluginPlaces(root: string): [ownFolder: string, nodeModules: string] {
  return [join(root, "plugins"), join(root, "node_modules")];
}

interface FoundFolder {
  /** Real path. */
  folder: string;
  /** Path by which it was found. */
  place: string;
  origin: Plugin["origin"];
}

async function foldersOf(
  origin: Plugin["origin"],
  folders: readonly string[] | Promise<readonly string[]>,
): Promise<FoundFolder[]> {
  return await Promise.all((await folders).map(async (place) => {
    // One that is being removed is not there any more: reading it says so.
    return { folder: await realpath(place).catch(() => place), place, origin };
  }));
}

/** Reads one folder. Never throws for what is in it. */
export async function readPlugin(
  folder: string,
  { origin, limits = defaultLimits, known }: {
    origin: Plugin["origin"];
    limits?: ManifestLimits;
    known?: KnownManifests | undefined;
  },
): Promise<FoundPlugin> {
  try {
    const real = await realpath(folder);
    const manifest = await readManifest(real, { limits, known });
    return { id: manifest.id, folder: real, origin, manifest, error: null };
  } catch (thrown) {
    return { id: await guessId(folder), folder, origin, manifest: null, error: readError(folder, thrown) };
  }
}

function readError(folder: string, thrown: unknown): BulkheadError {
  const missing = thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT";
  if (!missing) return toBulkheadError(thrown);
  return new BulkheadError("not_found", `Cannot read the plugin in ${folder}: there is no such folder.`, {
    cause: thrown,
  });
}

async function packagesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return await withManifest(names.sort().map((name) => join(folder, name)));
}

async function installedIn(nodeModules: string): Promise<string[]> {
  const names = (await readdir(nodeModules).catch(() => [])).filter((name) => !name.startsWith("."));
  const scoped = await Promise.all(
    names.filter((name) => name.startsWith("@")).map(async (scope) => {
      return (await readdir(join(nodeModules, scope)).catch(() => [])).map((name) => join(scope, name));
    }),
  );
  const plain = names.filter((name) => !name.startsWith("@"));
  return await withManifest([...plain, ...scoped.flat()].sort().map((name) => join(nodeModules, name)));
}

async function withManifest(folders: readonly string[]): Promise<string[]> {
  const there = await Promise.all(
    folders.map((folder) => stat(join(folder, manifestName)).then(() => true, () => false)),
  );
  return folders.filter((_, index) => there[index]);
}

/** A manifest that cannot be read may still show which plugin it was meant to be. */
async function guessId(folder: string): Promise<string> {
  const file = join(folder, manifestName);
  const small = await stat(file).then((entry) => entry.isFile() && entry.size < 1024 * 1024, () => false);
  const text = small ? await readFile(file, "utf8").catch(() => "") : "";
  return /^id:\s*["']?([a-z0-9-]{1,64})["']?\s*$/m.exec(text)?.[1] ?? basename(folder);
}
