import type { SyncedFile } from "../../ground/platform/files/synced-file.ts";
import { closedError } from "./journal-error.ts";

/** Brings commits to the disk while the host's thread goes on. Those made meanwhile go together in the next turn. */
export class DiskSync {
  readonly #file: SyncedFile;
  /** Whether there are commits that no turn has begun to bring to the disk. */
  #isBehind = false;
  #running: Promise<void> | null = null;
  #next: Promise<void> | null = null;
  #failure: unknown;

  constructor(file: SyncedFile) {
    this.#file = file;
  }

  noteCommit(): void {
    this.#isBehind = true;
  }

  /**
   * Resolves when every commit noted so far is on the disk.
   * @throws {Error} of the disk; and from then on, because the system forgets what it could not write
   */
  onDisk(): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.#isBehind) return this.#next ??= this.#turn();
    return this.#running ?? Promise.resolve();
  }

  async close(): Promise<void> {
    await this.onDisk().catch(() => {});
    this.#failure ??= closedError();
    await this.#file.close();
  }

  async #turn(): Promise<void> {
    await this.#running?.catch(() => {});
    this.#next = null;
    this.#isBehind = false;
    if (this.#failure !== undefined) throw this.#failure;
    const running = this.#running = this.#file.sync();
    try {
      await running;
    } catch (error) {
      throw this.#failure ??= error;
    } finally {
      if (this.#running === running) this.#running = null;
    }
  }
}

/** Opens the file that commits go to; what the opening of the journal itself changed is on the disk then. */
export async function openDiskSync(open: () => Promise<SyncedFile>): Promise<DiskSync> {
  const disk = new DiskSync(await open());
  disk.noteCommit();
  await disk.onDisk();
  return disk;
}
