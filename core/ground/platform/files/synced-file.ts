import { open } from "node:fs/promises";

/** An existing file that is written elsewhere in this process. */
export interface SyncedFile {
  /** Resolves when all that was written before the call is on the disk; other work goes on meanwhile. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** Opens a file in order to bring to the disk what is written to it. */
export async function openSyncedFile(path: string): Promise<SyncedFile> {
  const handle = await open(path, "r");
  return { sync: () => handle.datasync(), close: () => handle.close() };
}

/** Waits until the names in a folder are on the disk. A system that cannot sync a folder needs no such wait. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r").catch(() => null);
  await folder?.sync().catch(() => {});
  await folder?.close();
}
