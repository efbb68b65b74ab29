import { onNextTurn } from "../../ground/runtime/next-turn.ts";

/** Options of {@link Heartbeat}. */
export interface HeartbeatOptions {
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

/** Pings a worker and notices when it no longer answers. */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #pings = 0;
  #unanswered: { n: number; deadline: ReturnType<typeof setTimeout> } | null = null;
  #interval: ReturnType<typeof setInterval> | undefined;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  start(): void {
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
    this.#options.onBeat();
    if (this.#unanswered) return;
    const n = ++this.#pings;
    this.#awaitAnswer(n, this.#options.timeoutMs);
    this.#options.ping(n);
  }

  #awaitAnswer(n: number, ms: number): void {
    const heldMs = this.#options.heldMs();
    const deadline = setTimeout(() => this.#overdue(n, heldMs), ms);
    deadline.unref?.();
    this.#unanswered = { n, deadline };
  }

  /**
   * The host itself may be late, with the answer still unread: wait one turn, and as long as messages were held back.
   */
  #overdue(n: number, heldBefore: number): void {
    onNextTurn(() => {
      if (this.#unanswered?.n !== n) return;
      const heldMs = this.#options.heldMs() - heldBefore;
      if (heldMs > 0) return this.#awaitAnswer(n, heldMs);
      this.#options.onSilence();
    });
  }
}
