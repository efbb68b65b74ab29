import { open, stat } from "node:fs/promises";
import { wait } from "../engine/wait.ts";

/** Read position in a file that may be replaced. */
interface FilePlace {
  /** The file's inode; null while there was none. */
  file: number | null;
  /** Bytes read. */
  offset: number;
}

/** Bytes at the end of a file that are searched for its last lines. */
const tailBytes = 4 * 1024 * 1024;
const lookEveryMs = 200;

/** The last lines of a text file and its end; none for a missing file. */
export async function lastLines(path: string, count: number): Promise<{ lines: string[]; end: FilePlace }> {
  const info = await stat(path).catch(() => null);
  if (info === null) return { lines: [], end: { file: null, offset: 0 } };
  const from = Math.max(0, info.size - tailBytes);
  const { text, offset } = await readFrom(path, from);
  const lines = text.split("\n").slice(from > 0 ? 1 : 0, -1);
  return { lines: count === 0 ? [] : lines.slice(-count), end: { file: info.ino, offset } };
}

/** Yields lines as they are appended, from a place on, also to a new file of that name. Ends with the signal. */
export async function* followLines(
  path: string,
  { from, signal }: { from: FilePlace; signal: AbortSignal },
): AsyncGenerator<string, void, void> {
  let { file, offset } = from;
  while (!signal.aborted) {
    const info = await stat(path).catch(() => null);
    if (info !== null && info.ino !== file) {
      if (file !== null) yield* await restOf(path, { file, offset });
      file = info.ino;
      offset = 0;
    }
    const read = await readFrom(path, offset);
    if (read.offset === offset) await wait(lookEveryMs, signal);
    offset = read.offset;
    yield* read.text.split("\n").slice(0, -1);
  }
}

/** Text written just before the file was rotated to the number 1. */
async function restOf(path: string, { file, offset }: FilePlace): Promise<string[]> {
  const moved = `${path}.1`;
  const info = await stat(moved).catch(() => null);
  if (info?.ino !== file) return [];
  const { text } = await readFrom(moved, offset);
  return text.split("\n").slice(0, -1);
}

/** Complete lines from a place on, and their end. */
async function readFrom(path: string, from: number): Promise<{ text: string; offset: number }> {
  const file = await open(path, "r").catch(() => null);
  if (file === null) return { text: "", offset: from };
  try {
    const { size } = await file.stat();
    const bytes = new Uint8Array(Math.max(0, Math.min(size - from, tailBytes)));
    const { bytesRead } = await file.read(bytes, 0, bytes.length, from);
    const whole = bytes.subarray(0, bytes.lastIndexOf(0x0a, bytesRead - 1) + 1);
    return { text: new TextDecoder().decode(whole), offset: from + whole.length };
  } finally {
    await file.close();
  }
}
