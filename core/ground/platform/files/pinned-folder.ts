import { constants, readdirSync } from "node:fs";
export { rmdir } from "node:fs/promises";
import { open, opendir, readlink, realpath } from "node:fs/promises";
import process from "node:process";

/** A folder held open, so that work under `base` happens in it even if its path is swapped meanwhile. */
export interface PinnedFolder {
  /** Append `/name` to reach an entry. */
  readonly base: string;
  realPath(): Promise<string>;
  close(): Promise<void>;
}

/**
 * Opens a folder; its last segment must not be a link.
 *
 * Node has no `openat`. On Linux a path through `/proc/self/fd/<n>` does the same (proc_pid_fd(5)). Where that cannot
 * be read (other systems; Deno without all permissions) the path stays, and only `realPath()` can show a swap.
 */
export async function pinFolder(path: string): Promise<PinnedFolder> {
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  const close = () => handle.close();
  if (!fdsAreReadable) return { base: path, realPath: () => realpath(path), close };
  const base = `/proc/self/fd/${handle.fd}`;
  return { base, realPath: () => readlink(base), close };
}

const fdsAreReadable = canReadFds();

function canReadFds(): boolean {
  try {
    return process.platform === "linux" && readdirSync("/proc/self/fd").length > 0;
  } catch {
    return false;
  }
}

/** Names in a folder, sorted; null when there are more than `max`. */
export async function listFolder(folder: PinnedFolder, max: number): Promise<string[] | null> {
  const names: string[] = [];
  for await (const entry of await entriesOf(`${folder.base}/.`)) {
    if (names.length === max) return null;
    names.push(entry.name);
  }
  return names.sort();
}

/** Uses Deno's own listing: a folder that `opendir()` there has not read to its end stays open forever. */
function entriesOf(path: string): Promise<AsyncIterable<{ name: string }>> | AsyncIterable<{ name: string }> {
  const { Deno } = globalThis as { Deno?: { readDir(path: string): AsyncIterable<{ name: string }> } };
  return Deno === undefined ? opendir(path) : Deno.readDir(path);
}

/** User id whose rights this process has; null where there are none. */
export function userId(): number | null {
  try {
    return process.geteuid?.() ?? process.getuid?.() ?? null;
  } catch {
    // Deno's permissions may not allow it.
    return null;
  }
}
