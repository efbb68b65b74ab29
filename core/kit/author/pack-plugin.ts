import type { Manifest } from "../../../plugin-sdk/manifest.ts";
import { manifestJsonSchema } from "../../../plugin-sdk/manifest-json-schema.ts";
import { defaultLimits } from "../../ground/config/limits.ts";
import { parseYaml } from "../../ground/config/yaml.ts";
import { makeModule } from "../../packages/bundler/make-bundle.ts";
import { bundleOrder } from "../../packages/bundler/bundle-order.ts";
import { applyEdits, type Edit } from "../../packages/manifest/edits.ts";
import { manifestName, readManifest } from "../../packages/manifest/read-manifest.ts";
import { readFile, realpath } from "../../ground/platform/files/files.ts";
import { sha256Hex } from "../../ground/platform/files/hash.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { listedFiles } from "./package-files.ts";
import { packedPackageJson, type PluginPackageJson, readPackageJson } from "./package-json.ts";
import { makeTarball, type PackedFile } from "./tarball.ts";

/** Name of the file with the SHA-256 of every other file of a package. */
const integrityName = "integrity.json";

/** A plugin as an npm package. */
interface PackedPlugin {
  manifest: Manifest;
  name: string;
  /** File name as npm forms it: `me-my-plugin-1.0.0.tgz`. */
  fileName: string;
  tarball: Uint8Array;
  /** Hex SHA-256 of the tarball. */
  sha256: string;
  files: readonly PackedFile[];
  /** Paths of files that were listed by their folder and left out, because they hold secrets by their name. */
  leftOut: readonly string[];
  /** Why JSR cannot publish it; null where it can. */
  notForJsr: string | null;
}

interface PackOptions {
  /** `node_modules` folders for the packages the plugin names, beside its own. */
  nodeModules?: readonly string[];
}

/**
 * Makes the package of a plugin's folder: `plugin.yaml`, `package.json`, the one script with all that the code imports,
 * the schema of the manifest, what `package.json` lists under `files`, and the hash of each. The same input gives the
 * same bytes, wherever and whenever. Nothing of the plugin runs.
 * @throws {BulkheadError} `invalid_manifest`, `bundle_failed`, `not_found`, `io_error`, `too_large`
 */
export async function packPlugin(pluginFolder: string, { nodeModules = [] }: PackOptions = {}): Promise<PackedPlugin> {
  const folder = await realpath(pluginFolder).catch(() => pluginFolder);
  const manifest = await readManifest(folder);
  const source = await readPackageJson(folder, manifest);
  const own = await readFile(join(folder, manifestName), "utf8");
  const { text, script } = await packedCode(folder, { manifest, own, nodeModules });
  const { files: listed, leftOut } = await listedFiles(folder, source.files);
  const files = withIntegrity([
    // One that was made earlier gives way to what is made now.
    ...listed.filter(({ path }) => path !== script?.path),
    file(manifestName, text),
    file("package.json", packedPackageJson(source, manifest)),
    file("plugin.schema.json", `${JSON.stringify(manifestJsonSchema(), null, 2)}\n`),
    ...jsrFile(source, { manifest, script }),
    ...(script === null ? [] : [script]),
  ]);
  const tarball = makeTarball(files);
  const fileName = `${source.name.replace(/^@/, "").replace("/", "-")}-${source.version}.tgz`;
  return {
    manifest,
    name: source.name,
    fileName,
    tarball,
    sha256: sha256Hex(tarball),
    files,
    leftOut,
    notForJsr: notForJsr(source, script),
  };
}

/** The manifest as it is in the package, where its code is one script, and that script; null without code. */
async function packedCode(
  folder: string,
  { manifest, own, nodeModules }: { manifest: Manifest; own: string; nodeModules: readonly string[] },
): Promise<{ text: string; script: PackedFile | null }> {
  const key = manifest.entry !== undefined ? "entry" : "normaliser";
  const path = manifest[key];
  if (path === undefined) return { text: withSchema(own), script: null };
  const order = await bundleOrder({ folder, manifest, limits: defaultLimits }, nodeModules);
  const code = await makeModule({ ...order, entry: { path } }, defaultLimits);
  const name = key === "entry" ? "plugin.js" : "normaliser.js";
  return { text: withSchema(applyEdits(own, [scalarEdit(own, key, `./${name}`)])), script: file(name, code) };
}

/** Replaces a value of a manifest, and leaves everything around it as it is. */
function scalarEdit(text: string, key: string, value: string): Edit {
  const { document } = parseYaml(text, { file: manifestName, maxBytes: defaultLimits.manifest_bytes, maxAliases: 32 });
  const [start, end] = (document.get(key, true) as { range: [number, number] }).range;
  // The reader passes over a byte order mark.
  const shift = text.startsWith("\ufeff") ? 1 : 0;
  return { start: start + shift, removed: end - start, inserted: value };
}

/** Tells editors where the schema is, unless the author has told them already. */
function withSchema(text: string): string {
  return /^#\s*yaml-language-server:/m.test(text)
    ? text.replace(/^(#\s*yaml-language-server:\s*\$schema=).*$/m, "$1./plugin.schema.json")
    : `# yaml-language-server: $schema=./plugin.schema.json\n${text}`;
}

/** File that JSR also needs: only packages whose name has a scope can be published there. */
function jsrFile(
  { name, version }: PluginPackageJson,
  { manifest, script }: { manifest: Manifest; script: PackedFile | null },
): PackedFile[] {
  if (script === null || !name.startsWith("@")) return [];
  const settings = { name, version, license: manifest.license, exports: `./${script.path}` };
  return [file("jsr.json", `${JSON.stringify(settings, null, 2)}\n`)];
}

function notForJsr({ name }: PluginPackageJson, script: PackedFile | null): string | null {
  if (script === null) {
    return "JSR publishes modules, and this plugin has no code. Publish the tarball to an npm registry.";
  }
  if (name.startsWith("@")) return null;
  return `JSR needs a name with a scope. Set "name" in package.json to @<your scope>/${name}, and pack again.`;
}

function withIntegrity(files: readonly PackedFile[]): PackedFile[] {
  const sorted = [...files].sort((a, b) => (a.path < b.path ? -1 : 1));
  const hashes = Object.fromEntries(sorted.map(({ path, bytes }) => [path, sha256Hex(bytes)]));
  const text = JSON.stringify({ integrity: 1, algorithm: "sha256", files: hashes }, null, 2);
  return [...sorted, file(integrityName, `${text}\n`)];
}

function file(path: string, text: string): PackedFile {
  return { path, bytes: new TextEncoder().encode(text) };
}
