import { constants, open } from "node:fs/promises";
import { absent } from "../../errors/write-fault.ts";

/**
 * The bytes of a plain file, never through a symlink at its end, and never waiting for a pipe.
 * @throws {Error} where no descriptor is left, or the disk is broken
 * @returns null when it is not there, is no plain file, cannot be read, or has more than `maxBytes`
 */
export async function readPlainFile(path: string, maxBytes: number): Promise<Uint8Array | null> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(path, flags).catch(absent);
  if (file === null) return null;
  try {
    const found = await file.stat();
    return found.isFile() && found.size <= maxBytes ? await file.readFile() : null;
  } catch (error) {
    return absent(error);
  } finally {
    await file.close();
  }
}
