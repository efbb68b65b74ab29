import { startBackgroundTimer } from "../../ground/platform/engine/background-timer.ts";
import type { SqliteFile } from "../../ground/platform/state/sqlite.ts";
import type { JournalLimits } from "./journal-limits.ts";

interface CheckpointerOptions {
  database: SqliteFile;
  limits: JournalLimits;
  pauseCommits(paused: boolean): void;
}

/** Limit of commits ahead of a move, in `checkpoint_bytes`. */
const movesBehind = 8;

/** Moves the write-ahead log into the database file, on another thread. Protects commits against a power loss. */
export class Checkpointer {
  readonly #options: CheckpointerOptions;
  /** Bytes committed since the last move began. */
  #bytes = 0;
  #running: Promise<void> | null = null;
  #cancelTimer: (() => void) | null = null;
  #isStopped = false;

  constructor(options: CheckpointerOptions) {
    this.#options = options;
  }

  noteCommit(bytes: number): void {
    this.#bytes += bytes;
    if (this.#running === null) this.#plan();
    // A slow disk must not let the log grow without limit.
    else if (this.#bytes >= movesBehind * this.#options.limits.checkpoint_bytes) this.#options.pauseCommits(true);
  }

  /** Ends the move under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelTimer?.();
    await this.#running;
    this.#cancelTimer?.();
  }

  /** Ends the move under way and does a last one, which also empties the log. No commit may run meanwhile. */
  async finish(): Promise<void> {
    while (this.#running !== null) await this.#running;
    this.#cancelTimer?.();
    await this.#move("TRUNCATE");
  }

  #plan(): void {
    if (this.#bytes === 0 || this.#isStopped) return;
    const { limits } = this.#options;
    if (this.#bytes >= limits.checkpoint_bytes) this.#start();
    else this.#cancelTimer ??= startBackgroundTimer(() => this.#start(), limits.checkpoint_interval_ms);
  }

  #start(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    this.#running = this.#run().then(() => {
      this.#running = null;
      this.#plan();
    });
  }

  async #run(): Promise<void> {
    const { limits, pauseCommits } = this.#options;
    const isLarge = this.#bytes >= limits.checkpoint_bytes;
    this.#bytes = 0;
    await this.#move("PASSIVE");
    // The log starts over only where all of it has been moved. Under steady load commits must pause for that; only the
    // commits since the first move remain to be moved.
    if (this.#bytes > 0 && (isLarge || this.#bytes >= limits.checkpoint_bytes)) {
      pauseCommits(true);
      this.#bytes = 0;
      await this.#move("PASSIVE");
    }
    pauseCommits(false);
  }

  /** A failed move loses nothing: the next one does its work, and commits report a full or broken disk. */
  async #move(mode: "PASSIVE" | "TRUNCATE"): Promise<void> {
    await this.#options.database.execAside(`PRAGMA wal_checkpoint(${mode})`).catch(() => undefined);
  }
}
