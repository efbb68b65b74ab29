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
