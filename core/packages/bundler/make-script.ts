import type { BuildFailure, BuildOptions, BuildResult, Message } from "esbuild";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { fileURLToPath, join } from "../../ground/platform/files/paths.ts";
import { type BundleInputs, InputNotes } from "./bundle-inputs.ts";
import type { BundleOrder } from "./bundle-order.ts";
import { applyEdits } from "../manifest/edits.ts";
import { manifestEntry, moduleJail, OverLimit } from "./module-jail.ts";
import type { MappedScript } from "./script-positions.ts";
import { authorFile, type AuthorPosition, moduleNamespace, ScriptPositions } from "./script-positions.ts";
import { mostEdits, sourceMapFactor } from "./protocol.ts";
import { mendForCompartment } from "./ses-source.ts";

/** The used part of the bundling library. */
export type Esbuild = Pick<typeof import("esbuild"), "build">;

/** A script that was just made. */
interface Bundled extends MappedScript {
  /** Inputs that it was made from; null when one changed meanwhile. */
  inputs: BundleInputs | null;
}

/**
 * Makes the one script of a plugin. Nothing of the plugin runs here.
 * @throws {BulkheadError} `bundle_failed` with the author's file, line and column; `too_large`
 */
export async function makeScript(order: BundleOrder, esbuild: Esbuild): Promise<Bundled> {
  const { pluginId } = order;
  const notes = new InputNotes();
  notes.file(ownFile);
  const { bundled, sourceMap } = await runBundler(order, { notes, esbuild });
  // The parser that comes now takes a hundred times the bytes of its text.
  checkSize(order, bundled);
  checkMap(order, sourceMap);
  const { edits, faults } = mendForCompartment(bundled);
  const text = edits.length > 0 ? applyEdits(bundled, edits) : bundled;
  const fault = faults[0];
  if (fault) {
    const positions = new ScriptPositions({ bundled, sourceMap, edits, text });
    throw failed(pluginId, positions.atBundledOffset(fault.start), { text: fault.message });
  }
  checkSize(order, text);
  if (edits.length > mostEdits) throw tooManyEdits(order, edits.length);
  return { text, bundled, sourceMap, edits, inputs: await notes.collect() };
}

/**
 * Joins a plugin's code to one readable module that imports nothing, for its package. Nothing of the plugin runs here.
 * @throws {BulkheadError} `bundle_failed` with the author's file, line and column; `too_large`
 */
export async function makeModule(order: BundleOrder, esbuild: Esbuild): Promise<string> {
  const form: BuildOptions = { format: "esm", minifyWhitespace: true, sourcemap: false };
  const { bundled } = await runBundler(order, { notes: new InputNotes(), esbuild, form });
  checkSize(order, bundled);
  // Printed again, so that nothing is left of how the contract was written in this build. Not by `transform()`, which
  // hands over large texts in temporary files.
  const printed = await esbuild.build({
    stdin: { contents: bundled, loader: "js" },
    write: false,
    charset: "utf8",
    target: "es2022",
    legalComments: "none",
    tsconfigRaw: "{}",
    logLevel: "silent",
  });
  const code = printed.outputFiles[0]?.text ?? "";
  checkSize(order, code);
  return code;
}

function checkSize({ pluginId, maxBytes }: BundleOrder, text: string): void {
  const bytes = new TextEncoder().encode(text).length;
  if (bytes <= maxBytes) return;
  throw new BulkheadError(
    "too_large",
    `Cannot bundle plugin "${pluginId}": its script has ${bytes} bytes, and at most ${maxBytes} are allowed.`,
    { hint: "Import less, or raise the limit script_bytes.", details: { bytes, limit: maxBytes } },
  );
}

function checkMap({ pluginId, maxBytes }: BundleOrder, sourceMap: string): void {
  const limit = sourceMapFactor * maxBytes;
  if (sourceMap.length <= limit) return;
  const message = `Cannot bundle plugin "${pluginId}": its source map has ${sourceMap.length} bytes, and at most ` +
    `${limit} are allowed.`;
  const hint = `Import less, or raise the limit script_bytes, which allows ${sourceMapFactor} times as much.`;
  throw new BulkheadError("too_large", message, { hint, details: { bytes: sourceMap.length, limit } });
}

function tooManyEdits({ pluginId }: BundleOrder, count: number): BulkheadError {
  return new BulkheadError(
    "too_large",
    `Cannot bundle plugin "${pluginId}": ${count} places look like import(), eval() or an HTML comment, and at most ` +
      `${mostEdits} are allowed.`,
    { hint: "Move the texts with these signs into a file that the adapter reads.", details: { limit: mostEdits } },
  );
}

/** The code that decides what becomes of a plugin's source: while it is worked on, each change makes other scripts. */
const ownFile = fileURLToPath(import.meta.url);

/** A script whose completion value is the namespace of the entry. */
const asScript: BuildOptions = {
  format: "iife",
  globalName: "__plugin",
  footer: { js: "__plugin" },
  minifyWhitespace: true,
  sourcemap: "external",
  sourcesContent: false,
};

async function runBundler(
  { pluginId, folder, entry, nodeModules, source: limits, contract, hashes }: BundleOrder,
  { notes, esbuild, form = asScript }: { notes: InputNotes; esbuild: Esbuild; form?: BuildOptions },
): Promise<{ bundled: string; sourceMap: string }> {
  const outfile = join(folder, "plugin.js");
  const jail = moduleJail({ folder, nodeModules, entry, limits, contract, notes, hashes });
  let result: BuildResult;
  try {
    result = await esbuild.build({
      entryPoints: [manifestEntry],
      absWorkingDir: folder,
      plugins: [jail],
      bundle: true,
      write: false,
      outfile,
      ...form,
      platform: "neutral",
      // The jail follows links itself, and notes each.
      preserveSymlinks: true,
      mainFields: ["module", "main"],
      target: "es2022",
      charset: "utf8",
      treeShaking: true,
      legalComments: "none",
      // Given inline, so that no tsconfig.json is looked for, in the package or above it.
      tsconfigRaw: "{}",
      logLevel: "silent",
      logOverride: { "empty-import-meta": "error", "direct-eval": "error" },
    });
  } catch (error) {
    if (!isBuildFailure(error)) throw error;
    throw bundlerFault(pluginId, error.errors);
  }
  const text = (ending: string) => result.outputFiles?.find(({ path }) => path.endsWith(ending))?.text ?? "";
  return { bundled: text("plugin.js"), sourceMap: text(".map") };
}

function isBuildFailure(error: unknown): error is BuildFailure {
  return error instanceof Error && "errors" in error && Array.isArray(error.errors);
}

/** Faults that the bundler explains in its own terms, and what they mean to the author of an adapter. */
const plainFaults: readonly (readonly [start: string, text: string])[] = [
  ["Top-level await", "an adapter cannot await at the top level: do it in initialize() or runSession()"],
  ['"import.meta" is not available', "an adapter has no import.meta: for the path of its folder use ctx.plugin_dir"],
  ["Using direct eval", "an adapter has no eval()"],
];

function bundlerFault(pluginId: string, errors: readonly Message[]): BulkheadError {
  const [first] = errors;
  if (!first) return failed(pluginId, null, { text: "the bundler gave no reason" });
  if (first.detail instanceof OverLimit) return overLimit(pluginId, first.text, first.detail);
  const { location } = first;
  const known = plainFaults.find(([start]) => first.text.startsWith(start))?.[1];
  const text = known ?? first.text.replaceAll(`${moduleNamespace}:`, "");
  if (!location) return failed(pluginId, null, { text });
  const place = { file: authorFile(location.file), line: location.line, column: location.column + 1 };
  return failed(pluginId, place, { text, sourceLine: location.lineText });
}

function overLimit(pluginId: string, text: string, { limit, most, file }: OverLimit): BulkheadError {
  const what = text.replace(/^Cannot bundle /, "");
  return new BulkheadError("too_large", `Cannot bundle plugin "${pluginId}": ${sentence(what)}`, {
    hint: `Make this file smaller, or raise the limit ${limit}.`,
    details: { plugin_id: pluginId, file, limit: most, limit_name: limit },
  });
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
      source_line: sourceLine,
    },
  });
}

function sentence(text: string): string {
  return text.endsWith(".") ? text : `${text}.`;
}
