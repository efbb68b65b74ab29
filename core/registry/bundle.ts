import { build, type BuildFailure, type BuildOptions, type BuildResult, type Message, stop, transform } from "esbuild";
import { BulkheadError } from "../../plugin-sdk/errors.ts";
import { fileURLToPath, join } from "../runtime/paths.ts";
import { within } from "../runtime/within.ts";
import { type BundleInputs, InputNotes } from "./bundle-inputs.ts";
import type { BundleOrder } from "./bundle-order.ts";
import { applyEdits } from "./edits.ts";
import { manifestEntry, moduleJail } from "./module-jail.ts";
import type { ScriptParts } from "./script-parts.ts";
import { authorFile, type AuthorPosition, moduleNamespace, ScriptPositions } from "./script-positions.ts";
import { mendForCompartment } from "./ses-source.ts";

/** A script that was made now. */
export interface Bundled extends ScriptParts {
  /** What it was made from; null when that changed meanwhile. */
  inputs: BundleInputs | null;
}

/**
 * Makes the one script of a plugin. Nothing of the plugin runs here.
 * @throws {BulkheadError} `bundle_failed` with the author's file, line and column; `too_large`
 */
export async function makeScript(order: BundleOrder): Promise<Bundled> {
  const { pluginId } = order;
  const notes = new InputNotes();
  for (const file of ownFiles) notes.file(file);
  const { bundled, sourceMap } = await whileBundling(order, () => runBundler(order, notes));
  const { edits, faults } = mendForCompartment(bundled);
  const text = edits.length > 0 ? applyEdits(bundled, edits) : bundled;
  const fault = faults[0];
  if (fault) {
    const positions = new ScriptPositions({ pluginId, bundled, sourceMap, edits, text });
    throw failed(pluginId, positions.atBundledOffset(fault.start), { text: fault.message });
  }
  checkSize(order, text);
  return { text, bundled, sourceMap, edits, inputs: await notes.collect() };
}

/**
 * Joins a plugin's code to one readable module that imports nothing, for its package. Nothing of the plugin runs here.
 * @throws {BulkheadError} `bundle_failed` with the author's file, line and column; `too_large`
 */
export async function makeModule(order: BundleOrder): Promise<string> {
  const code = await whileBundling(order, async () => {
    const { bundled } = await runBundler(order, new InputNotes(), {
      format: "esm",
      minifyWhitespace: true,
      sourcemap: false,
    });
    // Printed anew, so that nothing is left of how the contract was written in this build.
    return (await transform(bundled, { charset: "utf8", target: "es2022", legalComments: "none" })).code;
  });
  checkSize(order, code);
  return code;
}

/** Bundles under way, of all hosts of this process, and whether the last of them ends the bundler. */
const work = { bundles: 0, endAfter: false };

/**
 * Ends the bundler's own process; the next bundle starts it again. A bundle that another host waits for is made first:
 * without its process it would never come.
 */
export async function endBundler(): Promise<void> {
  if (work.bundles > 0) work.endAfter = true;
  else await stop();
}

/** The bundler reads what lies in the folder: a pipe in an odd place would keep it for ever. */
const longestBundleMs = 60_000;

async function whileBundling<T>({ pluginId }: BundleOrder, bundle: () => Promise<T>): Promise<T> {
  work.bundles++;
  try {
    const made = bundle();
    if (await within(made, longestBundleMs)) return await made;
    made.catch(() => {});
    const message = `Cannot bundle plugin "${pluginId}": it was not done within ${longestBundleMs / 1000} seconds.`;
    throw new BulkheadError("bundle_failed", message, {
      hint: "Look in its folder for named pipes, and for links to a disk that does not answer.",
    });
  } finally {
    work.bundles--;
    if (work.bundles === 0 && work.endAfter) {
      work.endAfter = false;
      await stop();
    }
  }
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

/** The code that decides what becomes of a plugin's source: while it is worked on, each change makes other scripts. */
const ownFiles = ["bundle", "module-jail", "ses-source"].map((name) => {
  const extension = import.meta.url.slice(import.meta.url.lastIndexOf("."));
  return fileURLToPath(new URL(`./${name}${extension}`, import.meta.url));
});

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
  { pluginId, folder, entry, nodeModules, maxBytes, hashes }: BundleOrder,
  notes: InputNotes,
  form: BuildOptions = asScript,
): Promise<{ bundled: string; sourceMap: string }> {
  const outfile = join(folder, "plugin.js");
  const jail = moduleJail({ folder, nodeModules, entry, maxBytes: 4 * maxBytes, notes, hashes });
  let result: BuildResult;
  try {
    result = await build({
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
