import { chmod, lstat, mkdtemp, rmdir } from "node:fs/promises";
import { join } from "node:path";

/**
 * The time of the file system that a folder lies on, as the change times of its files show it: no program can set those,
 * and the clock of another machine may differ from this one's. Gives the folder the mode that it has, which changes
 * nothing else of it.
 */
export async function fileClock(folder: string): Promise<number> {
  try {
    const { mode } = await lstat(folder);
    await chmod(folder, mode & 0o7777);
    return (await lstat(folder)).ctimeMs;
  } catch {
    return await byNewFolder(folder).catch(() => Date.now() - unknownClockMs);
  }
}

/** How far a clock that cannot be read may be behind. */
const unknownClockMs = 5000;

/** For a folder of another user's. */
async function byNewFolder(folder: string): Promise<number> {
  const made = await mkdtemp(join(folder, ".bulkhead-"));
  try {
    return (await lstat(made)).ctimeMs;
  } finally {
    await rmdir(made);
  }
}
