import { onNextTurn } from "../../ground/platform/engine/next-turn.ts";

interface HeartbeatOptions {
  intervalMs: number;
  /** Time that the worker has for an answer. */
  timeoutMs: number;
  /** Milliseconds for which the host has held back the worker's messages. */
  heldMs(): number;
  /** Called at each beat, also while an answer is awaited. */
  onBeat(): void;
  ping(n: number): void;
  /** Called when the worker did not answer in time. */
  onSilence(): void;
}

/** Pings a worker and notices when it no longer answers. Time in which the host stood still does not count. */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #pings = 0;
  #unanswered: { n: number; deadline: ReturnType<typeof setTimeout> } | null = null;
  #interval: ReturnType<typeof setInterval> | undefined;
  #lastBeat = 0;
  /** Milliseconds by which beats came late, all together. */
  #lateMs = 0;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  start(): void {
    this.#lastBeat = performance.now();
    this.#interval = setInterval(() => this.#beat(), this.#options.intervalMs);
    this.#interval.unref?.();
  }

  stop(): void {
    clearInterval(this.#interval);
    clearTimeout(this.#unanswered?.deadline);
  }

  /** Takes an answer; false for one to no open ping. */
  take(n: number): boolean {
    if (this.#unanswered?.n !== n) return false;
    clearTimeout(this.#unanswered.deadline);
    this.#unanswered = null;
    return true;
  }

  #beat(): void {
    this.#lateMs = this.#late();
    this.#lastBeat = performance.now();
    this.#options.onBeat();
    if (this.#unanswered) return;
    const n = ++this.#pings;
    this.#awaitAnswer(n, this.#options.timeoutMs);
    this.#options.ping(n);
  }

  #awaitAnswer(n: number, ms: number): void {
    const lostMs = this.#lostMs();
    const deadline = setTimeout(() => this.#overdue(n, lostMs), ms);
    deadline.unref?.();
    this.#unanswered = { n, deadline };
  }

  /** Gives back the time that was lost since, and a turn in which an answer that has come is read. */
  #overdue(n: number, lostBefore: number): void {
    const lostMs = this.#lostMs() - lostBefore;
    onNextTurn(() => {
      if (this.#unanswered?.n !== n) return;
      if (lostMs > 0) return this.#awaitAnswer(n, lostMs);
      this.#options.onSilence();
    });
  }

  /** Milliseconds in which the worker could not be heard. */
  #lostMs(): number {
    return this.#options.heldMs() + this.#late();
  }

  #late(): number {
    return this.#lateMs + Math.max(0, performance.now() - this.#lastBeat - this.#options.intervalMs);
  }
}
