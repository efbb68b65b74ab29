import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { Manifest } from "../../../plugin-sdk/manifest.ts";
import type { Limits } from "../../ground/config/limits.ts";
import { realpath, stat } from "../../ground/platform/files/files.ts";
import { dirname, fileURLToPath, join } from "../../ground/platform/files/paths.ts";
import type { FileHashes } from "../manifest/installed-files.ts";
import { ownPluginsDir } from "../manifest/find-plugins.ts";
import type { Plugin } from "../manifest/plugin.ts";
import { sdkName } from "./sdk-name.ts";

/** A limit of making a script. */
export type BundleLimit =
  | "script_bytes"
  | "source_file_bytes"
  | "source_bytes"
  | "source_depth"
  | "bundle_timeout_ms"
  | "bundle_mb";

/** Options of {@link bundleOrder}. */
export interface BundleSource {
  /** Absolute path of the package. */
  folder: string;
  manifest: Manifest;
  limits: Pick<Limits, BundleLimit>;
  /** Bundled plugins share the host's own `node_modules`. */
  origin?: Plugin["origin"];
  /** Hashes of an installed package's files; other files are refused. */
  hashes?: FileHashes;
}

/** Limits that a plugin's source must keep before a parser sees it. */
export interface SourceLimits {
  /** Bytes of one file. */
  fileBytes: number;
  /** Bytes of all files. */
  bytes: number;
  /** Nesting of brackets in one file. */
  depth: number;
}

/** Instructions for the bundler; from the same files and the same order it makes the same script. */
export interface BundleOrder {
  pluginId: string;
  /** Real absolute path of the package. */
  folder: string;
  /** Path of the entry in the package, or the source of one that is no file. */
  entry: { path: string } | { source: string };
  /** Other `node_modules` folders for the packages the plugin names. */
  nodeModules: readonly string[];
  /** Bytes of the script at most. */
  maxBytes: number;
  source: SourceLimits;
  /** Absolute paths of the contract's entry and of its schema library. */
  contract: { entry: string; typebox: string };
  /** Hashes of an installed package's files; other files are refused. */
  hashes?: FileHashes | undefined;
}

/**
 * Returns the bundler's instructions for a plugin.
 * @param nodeModules default: the host's, for bundled plugins only
 * @throws {BulkheadError} `bundle_failed` for a folder that cannot be read
 */
export async function bundleOrder(source: BundleSource, nodeModules?: readonly string[]): Promise<BundleOrder> {
  const { manifest, limits } = source;
  const folder = await realpath(source.folder).catch((cause: unknown) => {
    throw new BulkheadError("bundle_failed", `Cannot bundle plugin "${manifest.id}": its folder cannot be read.`, {
      cause,
    });
  });
  return {
    pluginId: manifest.id,
    folder,
    entry: manifest.entry === undefined ? { source: toolSource(manifest) } : { path: manifest.entry },
    nodeModules: nodeModules ?? (isOurs(source, folder) ? await hostNodeModules() : []),
    maxBytes: limits.script_bytes,
    source: { fileBytes: limits.source_file_bytes, bytes: limits.source_bytes, depth: limits.source_depth },
    contract: { entry: sdkFile, typebox: typeboxFile },
    hashes: source.hashes,
  };
}

/** One that comes with the host is that in the conformance kit as well, whose own host knows of no plugin. */
function isOurs({ origin }: BundleSource, folder: string): boolean {
  return origin === "bundled" || dirname(folder) === ownPluginsDir;
}

/** The entry of a plugin without code: the same for all its instances, whose options fill in the permissions. */
function toolSource({ permissions: _, permissions_for: _for, ...manifest }: Manifest): string {
  const tool = JSON.stringify(manifest);
  if (manifest.normaliser === undefined) {
    return `import { cliTool } from "${sdkName}";\nexport default cliTool(${tool});\n`;
  }
  const path = JSON.stringify(relativePath(manifest.normaliser));
  return `import { cliTool } from "${sdkName}";\nimport normaliser from ${path};\n` +
    `export default cliTool(${tool}, normaliser);\n`;
}

function relativePath(path: string): string {
  return path.startsWith("./") ? path : `./${path}`;
}

/** `node_modules` folders of the host itself and of the packages it is installed in, nearest first. */
async function hostNodeModules(): Promise<string[]> {
  const found: string[] = [];
  for (let folder = dirname(dirname(sdkFile)); folder !== dirname(folder); folder = dirname(folder)) {
    const candidate = join(folder, "node_modules");
    if (await stat(candidate).then((entry) => entry.isDirectory(), () => false)) found.push(await realpath(candidate));
  }
  return found;
}

const own = import.meta.url;
const isSource = own.endsWith(".ts");

/** Absolute path of the contract's entry: source beside source, build beside build. */
const sdkFile: string = fileURLToPath(
  new URL(isSource ? "../../../plugin-sdk/mod.ts" : "../../../plugin-sdk/mod.js", own),
);

/** Absolute path of the schema library that the contract is written with, as one module. */
const typeboxFile: string = fileURLToPath(
  new URL(isSource ? "../../../dist/walls/typebox.js" : "../../../walls/typebox.js", own),
);
