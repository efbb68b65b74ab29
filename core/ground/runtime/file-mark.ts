import { lstat } from "node:fs/promises";

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
