import { chmod, lstat, readdir, rename, rm, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { randomId } from "./hash.ts";

/**
 * Removes a folder that a program could write to, with all that is in it: also folders that it has closed to its own
 * user, as some package managers do, and chains of them longer than a path may be. Links are not followed.
 */
export async function removeTree(folder: string): Promise<void> {
  try {
    await remove(folder);
  } catch (error) {
    const code = codeOf(error);
    if (code !== "EACCES" && code !== "EPERM" && code !== "ENAMETOOLONG") throw error;
    await openUp(folder);
    await remove(folder);
  }
}

/** Entries of a small tree. Its calls are made here: the runtime's function makes twice as many. */
const few = 32;

async function remove(folder: string): Promise<void> {
  if (await isRemoved(folder, { left: few })) return;
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}

/** Removes a small tree; false where it is not one, or something of it could not be removed. */
async function isRemoved(folder: string, room: { left: number }): Promise<boolean> {
  // Most are empty. The error tells of a folder, so that no link is followed.
  const problem = await rmdir(folder).then(() => null, codeOf);
  if (problem !== "ENOTEMPTY") return problem === null;
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => null);
  if (entries === null || (room.left -= entries.length) < 0) return false;
  const removed = await Promise.all(entries.map((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? isRemoved(path, room) : unlink(path).then(() => true, () => false);
  }));
  return !removed.includes(false) && await rmdir(folder).then(() => true, () => false);
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : "unknown";
}

/** Beyond so many characters of a path what lies there comes to the top; a name has 255 bytes at most. */
const longPath = 1000;

async function openUp(top: string): Promise<void> {
  const folders = [top];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const { mode } = await lstat(folder);
    if ((mode & 0o700) !== 0o700) await chmod(folder, mode | 0o700);
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      if (!entry.isDirectory()) continue;
      let below = join(folder, entry.name);
      if (below.length > top.length + longPath) {
        const moved = join(top, randomId());
        await rename(below, moved);
        below = moved;
      }
      folders.push(below);
    }
  }
}
