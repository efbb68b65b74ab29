import { chmod, lstat, readdir, rename, rm, rmdir } from "node:fs/promises";
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
    const code = error instanceof Error && "code" in error ? error.code : null;
    if (code !== "EACCES" && code !== "EPERM" && code !== "ENAMETOOLONG") throw error;
    await openUp(folder);
    await remove(folder);
  }
}

async function remove(folder: string): Promise<void> {
  // Most are empty, and one call is enough for those.
  const isRemoved = await rmdir(folder).then(() => true, () => false);
  if (!isRemoved) await rm(folder, { recursive: true, force: true, maxRetries: 3 });
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
