import { truncateSync } from "node:fs";
import { open, rm, stat } from "node:fs/promises";
import { randomBytes } from "node:crypto";
import { dirname } from "node:path";
import { startBackgroundTimer } from "../engine/background-timer.ts";
import { diskSpace } from "./disk-space.ts";

interface DiskReserveOptions {
  /** Bytes to hold; on a small disk fewer. */
  bytes: number;
  /** Default: 500 ms, and 5 seconds where the disk had no room. */
  tryAfterMs?: { first: number; next: number };
}

/** Part of a disk's free space that a reserve takes at most. */
const share = 0.05;
const leastBytes = 64 * 1024;
/** Parts in which it is given up; the last one is kept for what must not be missing. */
const portions = 8;
/** Of one content: a disk that compresses would hold no room with zeros. */
const pieceBytes = 256 * 1024;

/** Room on a disk that a file holds for those who must write when it is full. The file stays when it is closed. */
export class DiskReserve {
  readonly #file: string;
  readonly #options: Required<DiskReserveOptions>;
  #held = 0;
  /** Bytes that were held when it was whole. */
  #whole = 0;
  #isClosed = false;
  #taking: Promise<void> = Promise.resolve();
  #stopTrying: () => void;

  /** Takes the room a moment later, in the background, and again once the disk has room after it was given up. */
  constructor(file: string, { bytes, tryAfterMs = { first: 500, next: 5000 } }: DiskReserveOptions) {
    this.#file = file;
    this.#options = { bytes, tryAfterMs };
    this.#stopTrying = startBackgroundTimer(() => this.#try(), tryAfterMs.first);
  }

  get heldBytes(): number {
    return this.#held;
  }

  /**
   * Gives a portion of the room up, at once; false where nothing is held.
   * @param last also the portion that is kept to the end
   */
  giveUp({ last = false }: { last?: boolean } = {}): boolean {
    const portion = Math.max(leastBytes, Math.ceil(this.#whole / portions));
    if (this.#held === 0 || (!last && this.#held <= portion)) return false;
    this.#held = Math.max(0, this.#held - portion);
    try {
      truncateSync(this.#file, this.#held);
    } catch {
      this.#held = 0;
      return false;
    }
    this.#tryLater();
    return true;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopTrying();
    await this.#taking;
  }

  #tryLater(): void {
    this.#stopTrying();
    if (!this.#isClosed) this.#stopTrying = startBackgroundTimer(() => this.#try(), this.#options.tryAfterMs.next);
  }

  #try(): void {
    this.#taking = this.#take().catch(() => this.#tryLater());
  }

  async #take(): Promise<void> {
    const free = (await diskSpace(dirname(this.#file)))?.free ?? 0;
    const before = await stat(this.#file).then(({ size }) => size, () => 0);
    const bytes = Math.min(this.#options.bytes, Math.floor((free + before) * share));
    if (bytes < leastBytes) return this.#tryLater();
    if (before < bytes) await fill(this.#file, bytes);
    this.#held = this.#whole = Math.max(before, bytes);
  }
}

/** Writes the whole file or none of it. */
async function fill(file: string, bytes: number): Promise<void> {
  try {
    const handle = await open(file, "w", 0o600);
    try {
      for (let left = bytes; left > 0; left -= pieceBytes) await handle.write(randomBytes(Math.min(left, pieceBytes)));
    } finally {
      await handle.close();
    }
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  }
}
