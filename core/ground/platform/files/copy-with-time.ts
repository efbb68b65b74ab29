import { nullIfMissing } from "../../errors/write-fault.ts";
import type { Stats } from "node:fs";
import { constants, type FileHandle, open } from "node:fs/promises";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";

/**
 * Copies a plain file; the copy gets the modification time of the original, rounded down to the millisecond. Never
 * waits for a pipe: another process may put one in the file's place, and nothing could end that wait.
 * @returns how the original was; null when there is none
 * @throws {BulkheadError} `io_error` for anything that is no plain file; else the file system's errors
 */
export async function copyWithTime(from: string, to: string): Promise<Stats | null> {
  const original = await open(from, constants.O_RDONLY | constants.O_NONBLOCK).catch(nullIfMissing);
  if (original === null) return null;
  try {
    const found = await original.stat();
    if (!found.isFile()) throw new BulkheadError("io_error", `Cannot copy "${from}": it is no plain file.`);
    const copy = await open(to, "w");
    try {
      await copyAll(original, { to: copy, piece: Math.min(pieceBytes, found.size + 1) });
      const seconds = Math.floor(found.mtimeMs) / 1000;
      await copy.utimes(seconds, seconds);
    } finally {
      await copy.close();
    }
    return found;
  } finally {
    await original.close();
  }
}

const pieceBytes = 1024 * 1024;

async function copyAll(from: FileHandle, { to, piece: bytes }: { to: FileHandle; piece: number }): Promise<void> {
  const piece = new Uint8Array(bytes);
  for (;;) {
    const { bytesRead } = await from.read(piece, 0, bytes);
    if (bytesRead > 0) await to.writeFile(piece.subarray(0, bytesRead));
    // A plain file gives less than asked for only at its end.
    if (bytesRead < bytes) return;
  }
}
