import { startBackgroundTimer } from "../../ground/platform/engine/background-timer.ts";
import type { MadeScript } from "./accept-script.ts";
import { BundlerProcess } from "./bundler-process.ts";
import type { BundleJob } from "./protocol.ts";

/** Limits of a job. */
export interface BundlerOptions {
  timeoutMs: number;
  /** Megabytes of each process. */
  mb: number;
}

/** How long a bundler is kept for the next plugin. Milliseconds. */
const keptMs = 2000;
/** How long a job waits for the one before it, until it gets a bundler of its own. Milliseconds. */
const patienceMs = 500;
/** Bundlers at once. */
const mostBundlers = 4;

interface Waiting {
  mb: number;
  /** It has waited for so long that the one before it may be stuck. */
  late: boolean;
  take(bundler: Promise<BundlerProcess>): void;
}

/**
 * The bundlers of all hosts of this process. One job at a time is in a bundler, so that it is known whose source ended
 * it; there is one bundler, and more only while jobs take long.
 */
export class Bundlers {
  readonly #idle: BundlerProcess[] = [];
  readonly #waiting: Waiting[] = [];
  /** Bundlers that are there, or starting. */
  #live = 0;
  #jobs = 0;
  #hosts = 0;
  #endAfter = false;
  #cancelEnd: (() => void) | null = null;

  /**
   * Makes one script.
   * @throws {BulkheadError} `bundle_failed`, `too_large`, `unsupported`
   */
  async make(job: BundleJob, { timeoutMs, mb }: BundlerOptions): Promise<MadeScript> {
    this.#jobs++;
    this.#cancelEnd?.();
    try {
      const bundler = await this.#take(mb);
      try {
        return await bundler.make(job, { timeoutMs });
      } finally {
        this.#giveBack(bundler);
      }
    } finally {
      this.#jobs--;
      if (this.#jobs === 0) await this.#rest();
    }
  }

  /** Keeps the bundlers for a host; the answer leaves them, and ends them when no other host shares them. */
  share(): () => Promise<void> {
    this.#hosts++;
    let left = false;
    return async () => {
      if (left) return;
      left = true;
      this.#hosts--;
      await this.end();
    };
  }

  /**
   * Ends all bundlers, unless a host shares them; the next job starts one again. Jobs that are under way are done first:
   * without their bundler they would never end.
   */
  async end(): Promise<void> {
    if (this.#hosts > 0) return;
    if (this.#jobs > 0) this.#endAfter = true;
    else await this.#endIdle();
  }

  async #rest(): Promise<void> {
    if (this.#endAfter && this.#hosts === 0) {
      this.#endAfter = false;
      await this.#endIdle();
    } else if (this.#idle.length > 0) {
      this.#cancelEnd = startBackgroundTimer(() => void this.#endIdle(), keptMs);
    }
  }

  async #endIdle(): Promise<void> {
    this.#cancelEnd?.();
    await Promise.all(this.#idle.splice(0).map((bundler) => this.#drop(bundler)));
  }

  async #drop(bundler: BundlerProcess): Promise<void> {
    this.#live--;
    await bundler.end();
  }

  #take(mb: number): Promise<BundlerProcess> {
    return new Promise((resolve) => {
      const waiting: Waiting = { mb, late: false, take: resolve };
      this.#waiting.push(waiting);
      this.#handOut();
      if (!this.#waiting.includes(waiting)) return;
      startBackgroundTimer(() => {
        waiting.late = true;
        this.#handOut();
      }, patienceMs);
    });
  }

  #giveBack(bundler: BundlerProcess): void {
    if (bundler.usable) {
      bundler.holdHost(false);
      this.#idle.push(bundler);
    } else void this.#drop(bundler);
    this.#handOut();
  }

  #handOut(): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      const bundler = this.#bundlerFor(first);
      if (bundler === null) return;
      this.#waiting.shift();
      first.take(bundler);
    }
  }

  #bundlerFor({ mb, late }: Waiting): Promise<BundlerProcess> | null {
    for (let kept = this.#idle.pop(); kept !== undefined; kept = this.#idle.pop()) {
      if (kept.usable && kept.mb === mb) {
        kept.holdHost(true);
        return Promise.resolve(kept);
      }
      void this.#drop(kept);
    }
    if (this.#live > 0 && !(late && this.#live < mostBundlers)) return null;
    this.#live++;
    const started = BundlerProcess.start(mb);
    started.catch(() => {
      this.#live--;
      this.#handOut();
    });
    return started;
  }
}
