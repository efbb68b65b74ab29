import { chmod, lstat, mkdtemp, rmdir } from "node:fs/promises";
import { lstat as lookUp, type Stats } from "node:fs";
import { join } from "node:path";

/** Coarsest step of a file system's clock: a change within it may leave no sign. Milliseconds. */
const clockStepMs = 2000;

/** A file as the system knows it. No program can set `ctimeMs`; one of the runtimes has it in seconds only. */
interface FileIdentity {
  ino: number;
  ctimeMs: number;
  mtimeMs: number;
  size: number;
}

/** Text that changes with the file; null where it may have changed since a moment and not shown it. */
export function markOfFile(
  { ino, ctimeMs, mtimeMs, size }: FileIdentity,
  { before = Infinity }: { before?: number } = {},
): string | null {
  return ctimeMs > 0 && ctimeMs < before - clockStepMs ? `${ino} ${ctimeMs} ${mtimeMs} ${size}` : null;
}

/** Text that changes with any of the files, also with whether they are there; null as for {@link markOfFile}. */
export async function markOf(paths: readonly string[], moment?: { before: number }): Promise<string | null> {
  const marks = await Promise.all(paths.map(async (path) => {
    try {
      return markOfFile(await lstat(path), moment);
    } catch (error) {
      return error instanceof Error && "code" in error && error.code === "ENOENT" ? "none" : null;
    }
  }));
  return marks.includes(null) ? null : marks.join("\n");
}

/** Facts of many entries, null for each that cannot be looked up. One promise for all costs a quarter of many. */
export function factsOfMany(paths: readonly string[]): Promise<(Stats | null)[]> {
  const found: (Stats | null)[] = paths.map(() => null);
  return new Promise((done) => {
    let left = paths.length;
    if (left === 0) done(found);
    paths.forEach((path, index) => {
      lookUp(path, (error, facts) => {
        if (error === null) found[index] = facts;
        if (--left === 0) done(found);
      });
    });
  });
}

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
