import { Buffer } from "node:buffer";
import { open, readFile } from "node:fs/promises";
import { type Place, processesOf } from "./place.ts";

/** Bytes of memory that are read at once. */
const pieceBytes = 4 * 1024 * 1024;

/** Command lines of a case's processes that have this text in their environment, or anywhere in the memory they write. */
export async function keyHolders(place: Place, key: string): Promise<string[]> {
  const holders: string[] = [];
  for (const { pid, command } of await processesOf(place)) {
    const environ = await readFile(`/proc/${pid}/environ`, "latin1").catch(() => "");
    if (environ.includes(key) || await isInMemory(pid, key)) holders.push(command.slice(0, 200));
  }
  return holders;
}

/** Reads what a process can write: what it was told stands there, but for its environment at the start. */
async function isInMemory(pid: number, key: string): Promise<boolean> {
  const maps = await readFile(`/proc/${pid}/maps`, "latin1").catch(() => "");
  const memory = await open(`/proc/${pid}/mem`, "r").catch(() => null);
  if (memory === null) return false;
  // Engines keep text with one byte a character, or with two.
  const wanted = [Buffer.from(key, "latin1"), Buffer.from(key, "utf16le")];
  const buffer = Buffer.alloc(pieceBytes);
  try {
    for (const [, from = "", to = ""] of maps.matchAll(/^([0-9a-f]+)-([0-9a-f]+) rw/gm)) {
      const end = parseInt(to, 16);
      // Pieces overlap, so that a key across their border is found.
      for (let at = parseInt(from, 16); at < end; at += pieceBytes - 2 * key.length) {
        const length = Math.min(pieceBytes, end - at);
        const { bytesRead } = await memory.read(buffer, 0, length, at).catch(() => ({ bytesRead: 0 }));
        const piece = buffer.subarray(0, bytesRead);
        if (bytesRead > 0 && wanted.some((one) => piece.includes(one))) return true;
      }
    }
    return false;
  } finally {
    await memory.close();
  }
}
