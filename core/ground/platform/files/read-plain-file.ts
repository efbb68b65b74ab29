import { constants, open, readlink } from "node:fs/promises";
import { absent } from "../../errors/write-fault.ts";

/** A file's content, and the permissions of its owner. */
interface PlainFile {
  bytes: Uint8Array;
  mode: number;
}

/**
 * The bytes of a plain file, never through a symlink at its end, and never waiting for a pipe.
 * @throws {Error} where no descriptor is left, or the disk is broken
 * @returns null when it is not there, is no plain file, cannot be read, or has more than `maxBytes`
 */
export async function readPlainFile(path: string, maxBytes: number): Promise<Uint8Array | null> {
  return (await readPlain(path, { maxBytes, isReal: false }))?.bytes ?? null;
}

/** The text of such a file; null also where it cannot be read for any reason. */
export async function readPlainText(path: string, maxBytes: number): Promise<string | null> {
  const bytes = await readPlainFile(path, maxBytes).catch(() => null);
  return bytes === null ? null : new TextDecoder().decode(bytes);
}

/** Reads such a file at a real path, and none that is found elsewhere: a folder above it may have become a link. */
export async function readRealFile(path: string, maxBytes: number): Promise<PlainFile | null> {
  return await readPlain(path, { maxBytes, isReal: true }).catch(() => null);
}

async function readPlain(
  path: string,
  { maxBytes, isReal }: { maxBytes: number; isReal: boolean },
): Promise<PlainFile | null> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(path, flags).catch(absent);
  if (file === null) return null;
  try {
    const found = await file.stat();
    if (!found.isFile() || found.size > maxBytes) return null;
    // Deno reads this with all permissions alone.
    if (isReal && await readlink(`/proc/self/fd/${file.fd}`).catch(() => path) !== path) return null;
    return { bytes: await file.readFile(), mode: found.mode & 0o700 };
  } catch (error) {
    return absent(error);
  } finally {
    await file.close();
  }
}
