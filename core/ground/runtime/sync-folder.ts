import { open } from "node:fs/promises";

/** Waits until the names in a folder are on the disk. A system that cannot sync a folder needs no such wait. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r").catch(() => null);
  await folder?.sync().catch(() => {});
  await folder?.close();
}
