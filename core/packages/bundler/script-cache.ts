import { joinBytes } from "../../ground/platform/files/join-bytes.ts";
import { keepNewest, swapFile } from "../../ground/platform/files/replace-file.ts";
import { hostVersion } from "../../ground/config/version.ts";
import { mkdir, readFile } from "../../ground/platform/files/files.ts";
import { sha256Hex, sha256HexInTurns } from "../../ground/platform/files/hash.ts";
import { nextTurn } from "../../ground/platform/engine/next-turn.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { type BundleInputs, inputsHold } from "./bundle-inputs.ts";
import type { BundleOrder } from "./bundle-order.ts";
import type { Edit } from "../manifest/edits.ts";
import type { MappedScript } from "./script-positions.ts";

/** First line of a kept script's file; the texts follow it. */
interface Head {
  /** The order, and the host that gave it. */
  order: string;
  inputs: BundleInputs;
  edits: readonly Edit[];
  /** Bytes of the text, of its source map, and of the bundler's text where that differs. */
  lengths: [text: number, sourceMap: number, bundled: number];
  /** Hex SHA-256 of all that follows. */
  sha256: string;
}

const lineEnd = "\n".charCodeAt(0);

/** Scripts kept at most; beyond them those that were written longest ago go. */
const mostKept = 128;

/**
 * The script that was made of the same order before; null when there is none, when anything it was made from is not the
 * same by its bytes, or when the file is not as it was written.
 */
export async function readKeptScript(cacheDir: string, order: BundleOrder): Promise<MappedScript | null> {
  try {
    const file = await readFile(fileOf(cacheDir, order));
    const end = file.indexOf(lineEnd);
    const head: unknown = JSON.parse(decode(file.subarray(0, end)));
    const body = file.subarray(end + 1);
    if (!isHead(head) || head.order !== keyOf(order) || head.sha256 !== await sha256HexInTurns([body])) return null;
    return await inputsHold(head.inputs) ? await scriptFrom(head, body) : null;
  } catch {
    return null;
  }
}

/** Keeps a script for the next start. A folder that cannot be written costs nothing but time. */
export async function keepScript(
  cacheDir: string,
  order: BundleOrder,
  { inputs, script }: { inputs: BundleInputs; script: MappedScript },
): Promise<void> {
  const { text, sourceMap, edits } = script;
  const body = [encode(text), encode(sourceMap), encode(edits.length > 0 ? script.bundled : "")] as const;
  const lengths: Head["lengths"] = [body[0].length, body[1].length, body[2].length];
  const head: Head = { order: keyOf(order), inputs, edits, lengths, sha256: await sha256HexInTurns(body) };
  try {
    await mkdir(cacheDir, { recursive: true, mode: 0o700 });
    await swapFile(fileOf(cacheDir, order), joinBytes([encode(`${JSON.stringify(head)}\n`), ...body]));
    await keepNewest(cacheDir, mostKept);
  } catch {
    // The next start makes it again.
  }
}

function keyOf(order: BundleOrder): string {
  return JSON.stringify({ host: hostVersion, ...order });
}

function fileOf(cacheDir: string, { folder, pluginId }: BundleOrder): string {
  return join(cacheDir, sha256Hex(`${folder}\n${pluginId}`));
}

/** Each text in a turn of its own. */
async function scriptFrom({ lengths, edits }: Head, body: Uint8Array): Promise<MappedScript> {
  const [textBytes, mapBytes, bundledBytes] = lengths;
  const text = decode(body.subarray(0, textBytes));
  await nextTurn();
  const sourceMap = decode(body.subarray(textBytes, textBytes + mapBytes));
  await nextTurn();
  const bundled = bundledBytes === 0 ? text : decode(body.subarray(textBytes + mapBytes));
  return { text, sourceMap, bundled, edits };
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

/** Enough to read it: the hash says that the rest is as we wrote it. */
function isHead(value: unknown): value is Head {
  return typeof value === "object" && value !== null && "inputs" in value && "lengths" in value &&
    Array.isArray(value.lengths) && "edits" in value && Array.isArray(value.edits);
}
