import { build, type BuildFailure, type BuildResult, type Message, stop } from "esbuild";
import { BulkheadError } from "../../plugin-sdk/errors.ts";
import type { Manifest } from "../../plugin-sdk/manifest.ts";
import type { Limits } from "../config/limits.ts";
import { realpath, stat } from "../runtime/files.ts";
import { sha256Hex } from "../runtime/hash.ts";
import { dirname, join } from "../runtime/paths.ts";
import { manifestEntry, moduleJail, moduleNamespace, sdkFile, sdkName } from "./module-jail.ts";
import type { Plugin, PluginScript } from "./plugin.ts";
import { authorFile, type AuthorPosition, ScriptPositions } from "./script-positions.ts";
import { applyEdits, mendForCompartment } from "./ses-source.ts";

/** What a bundle is made from. */
export interface BundleSource {
  /** Absolute path of the package. */
  folder: string;
  manifest: Manifest;
  limits: Pick<Limits, "script_bytes">;
  /** Bundled plugins share the host's own `node_modules`. */
  origin?: Plugin["origin"];
}

/** Options of {@link bundlePlugin}. */
export interface BundleOptions {
  /** Other `node_modules` folders for the packages the plugin names; default: the host's, for bundled plugins only. */
  nodeModules?: readonly string[];
}

/**
 * Makes the one script of a plugin from its TypeScript or JavaScript, or from its manifest alone. Its completion value
 * is the namespace of the entry. Nothing of the plugin runs here.
 * @throws {BulkheadError} `bundle_failed` with the author's file, line and column; `too_large`
 */
export async function bundlePlugin(source: BundleSource, options: BundleOptions = {}): Promise<PluginScript> {
  const { manifest, limits } = source;
  const folder = await realpath(source.folder).catch((cause: unknown) => {
    throw new BulkheadError("bundle_failed", `Cannot bundle plugin "${manifest.id}": its folder cannot be read.`, {
      cause,
    });
  });
  const nodeModules = options.nodeModules ?? (source.origin === "bundled" ? await hostNodeModules() : []);
  const { bundled, sourceMap } = await runBundler(source, { folder, nodeModules });
  const { edits, faults } = mendForCompartment(bundled);
  const text = edits.length > 0 ? applyEdits(bundled, edits) : bundled;
  const positions = new ScriptPositions({ pluginId: manifest.id, bundled, sourceMap, edits, text });
  const fault = faults[0];
  if (fault) throw failed(manifest.id, positions.atBundledOffset(fault.start), { text: fault.message });
  const bytes = new TextEncoder().encode(text).length;
  if (bytes > limits.script_bytes) {
    throw new BulkheadError(
      "too_large",
      `Cannot bundle plugin "${manifest.id}": its script has ${bytes} bytes, and at most ${limits.script_bytes} are allowed.`,
      { hint: "Import less, or raise the limit script_bytes.", details: { bytes, limit: limits.script_bytes } },
    );
  }
  return { text, sha256: sha256Hex(text), mapStack: (stack) => positions.mapStack(stack) };
}

/** Ends the bundler's own process; the next bundle starts it again. Hosts call this when they close. */
export async function stopBundler(): Promise<void> {
  await stop();
}

async function runBundler(
  { manifest, limits }: BundleSource,
  { folder, nodeModules }: { folder: string; nodeModules: readonly string[] },
): Promise<{ bundled: string; sourceMap: string }> {
  const entry = manifest.entry === undefined ? { source: toolSource(manifest) } : { path: manifest.entry };
  const outfile = join(folder, "plugin.js");
  const jail = moduleJail({ folder, nodeModules, entry, maxBytes: 4 * limits.script_bytes });
  let result: BuildResult<{ write: false }>;
  try {
    result = await build({
      entryPoints: [manifestEntry],
      absWorkingDir: folder,
      plugins: [jail],
      bundle: true,
      write: false,
      outfile,
      format: "iife",
      globalName: "__plugin",
      footer: { js: "__plugin" },
      platform: "neutral",
      mainFields: ["module", "main"],
      target: "es2022",
      charset: "utf8",
      minifyWhitespace: true,
      treeShaking: true,
      legalComments: "none",
      sourcemap: "external",
      sourcesContent: false,
      // Given inline, so that no tsconfig.json is looked for, in the package or above it.
      tsconfigRaw: "{}",
      logLevel: "silent",
      logOverride: { "empty-import-meta": "error", "direct-eval": "error" },
    });
  } catch (error) {
    if (!isBuildFailure(error)) throw error;
    throw bundlerFault(manifest.id, error.errors);
  }
  const text = (ending: string) => result.outputFiles.find(({ path }) => path.endsWith(ending))?.text ?? "";
  return { bundled: text("plugin.js"), sourceMap: text(".map") };
}

/** The entry of a plugin without code. */
function toolSource(manifest: Manifest): string {
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

/** `node_modules` of the host itself and of whatever it is installed in, nearest first. */
async function hostNodeModules(): Promise<string[]> {
  const found: string[] = [];
  for (let folder = dirname(dirname(sdkFile)); folder !== dirname(folder); folder = dirname(folder)) {
    const candidate = join(folder, "node_modules");
    if (await stat(candidate).then((entry) => entry.isDirectory(), () => false)) found.push(await realpath(candidate));
  }
  return found;
}

function isBuildFailure(error: unknown): error is BuildFailure {
  return error instanceof Error && "errors" in error && Array.isArray(error.errors);
}

function bundlerFault(pluginId: string, errors: readonly Message[]): BulkheadError {
  const [first] = errors;
  if (!first) return failed(pluginId, null, { text: "the bundler gave no reason" });
  const { location } = first;
  const text = first.text.replaceAll(`${moduleNamespace}:`, "");
  if (!location) return failed(pluginId, null, { text });
  const place = { file: authorFile(location.file), line: location.line, column: location.column + 1 };
  return failed(pluginId, place, { text, sourceLine: location.lineText });
}

function failed(
  pluginId: string,
  place: AuthorPosition | null,
  { text, sourceLine }: { text: string; sourceLine?: string },
): BulkheadError {
  const where = place ? `${place.file}:${place.line}:${place.column}: ` : "";
  const shown = sourceLine === undefined || sourceLine.trim() === "" ? "" : `\n  ${sourceLine.trim().slice(0, 200)}`;
  return new BulkheadError("bundle_failed", `Cannot bundle plugin "${pluginId}": ${where}${sentence(text)}${shown}`, {
    details: {
      plugin_id: pluginId,
      ...(place ?? {}),
      ...(sourceLine === undefined ? {} : { source_line: sourceLine }),
    },
  });
}

function sentence(text: string): string {
  return text.endsWith(".") ? text : `${text}.`;
}
