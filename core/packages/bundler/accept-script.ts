import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { nextTurn } from "../../ground/platform/engine/next-turn.ts";
import { isBelow, relative, sep } from "../../ground/platform/files/paths.ts";
import type { BundleInputs } from "./bundle-inputs.ts";
import type { BundleOrder } from "./bundle-order.ts";
import type { MappedScript } from "./script-positions.ts";
import { brokenError } from "./bundle-errors.ts";
import { type BundleAnswer, bundleLanes } from "./protocol.ts";

/** A script that was just made. */
export interface MadeScript extends MappedScript {
  /** Inputs that it was made from; null when one changed meanwhile. */
  inputs: BundleInputs | null;
}

/** A bundler's output for one job: its answer, whose shape is checked, and the bytes of each text. */
interface BundlerOutput {
  answer: BundleAnswer;
  texts: ReadonlyMap<number, Uint8Array>;
}

/**
 * Takes a bundler's script. For an installed package the answer must show that it read the installed files.
 * @throws {BulkheadError} `bundle_failed`, `too_large`
 */
export async function acceptScript(order: BundleOrder, { answer, texts }: BundlerOutput): Promise<MadeScript> {
  if (answer.type === "refused") {
    const { code, message, hint, details } = answer;
    throw new BulkheadError(code, message, { hint, details });
  }
  const { edits, inputs } = answer;
  const foreign = foreignInput(order, inputs);
  if (foreign !== null) throw brokenError(order.pluginId, `it read ${foreign}, which was not installed.`);
  const text = await decode(texts.get(bundleLanes.text));
  const sourceMap = await decode(texts.get(bundleLanes.sourceMap));
  const bundled = edits.length === 0 ? text : await decode(texts.get(bundleLanes.bundled));
  return { text, sourceMap, bundled, edits, inputs };
}

function foreignInput({ folder, hashes }: BundleOrder, inputs: BundleInputs | null): string | null {
  if (hashes === undefined || inputs === null) return null;
  const foreign = inputs.files.find(([path, sha256]) =>
    sha256 !== null && isBelow(folder, path) && hashes[relative(folder, path).replaceAll(sep, "/")] !== sha256
  );
  return foreign === undefined ? null : relative(folder, foreign[0]);
}

/** Each large text in a turn of its own: other sessions go on in between. */
async function decode(bytes: Uint8Array | undefined): Promise<string> {
  await nextTurn();
  return bytes === undefined ? "" : new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}
