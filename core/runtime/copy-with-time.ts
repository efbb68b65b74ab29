import { copyFile, stat, utimes } from "node:fs/promises";

/**
 * Copies a file; the copy gets the modification time of the original, rounded down to the millisecond.
 * @returns false when there is no original
 */
export async function copyWithTime(from: string, to: string): Promise<boolean> {
  try {
    const { mtimeMs } = await stat(from);
    await copyFile(from, to);
    const seconds = Math.floor(mtimeMs) / 1000;
    await utimes(to, seconds, seconds);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR")) {
      return false;
    }
    throw error;
  }
}
