import { stat, statfs } from "node:fs/promises";

/** Room of a file system, in bytes. */
export interface DiskSpace {
  free: number;
  total: number;
  /** Files and folders that it holds; 0 where it does not count them. */
  files: number;
}

/** Names the file system of a place; null where the place is missing. */
export async function diskOf(path: string): Promise<string | null> {
  return await stat(path).then(({ dev }) => String(dev), () => null);
}

/** The room on the file system of a place, for a user who is not root; null where it cannot be told. */
export async function diskSpace(path: string): Promise<DiskSpace | null> {
  const found = await statfs(path).catch(() => null);
  if (found === null || found.blocks === 0) return null;
  const { bavail, blocks, bsize, files, ffree } = found;
  return { free: bavail * bsize, total: blocks * bsize, files: Math.max(0, files - ffree) };
}
