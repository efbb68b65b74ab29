/** Options of {@link Deadlines}. */
interface DeadlineOptions {
  totalMs: number;
  onTotal(ms: number): void;
  /** Returns true while the agent is silent because it waits for an answer. */
  waits(): boolean;
}

/** Limit on an attempt's silence. */
interface Silence {
  idleMs: number;
  onIdle(ms: number): void;
}

/**
 * A session's total deadline, which never pauses once it has started, and the idle deadline of its
 * current attempt, which every sign of life restarts.
 */
export class Deadlines {
  readonly totalMs: number;
  readonly #options: DeadlineOptions;
  #startedAt: number | null = null;
  #heardAt = 0;
  #total: ReturnType<typeof setTimeout> | undefined;
  #idle: ReturnType<typeof setTimeout> | undefined;

  constructor(options: DeadlineOptions) {
    this.#options = options;
    this.totalMs = options.totalMs;
  }

  /** Milliseconds until the total deadline. */
  get leftMs(): number {
    return this.#startedAt === null ? this.totalMs : this.totalMs - (performance.now() - this.#startedAt);
  }

  /** Starts the total deadline, unless it runs already. */
  start(): void {
    if (this.#startedAt !== null) return;
    this.#startedAt = performance.now();
    this.#total = setTimeout(() => this.#options.onTotal(this.totalMs), clamp(this.totalMs));
  }

  /** Begins an attempt; the first one starts the total deadline. */
  begin(silence: Silence): void {
    this.start();
    this.heard();
    this.#watchIdle(silence, silence.idleMs);
  }

  /** Records a sign of life; only notes the time, so that a busy stream sets no timers. */
  heard(): void {
    this.#heardAt = performance.now();
  }

  /** Ends the attempt: between attempts there is no idle deadline. */
  rest(): void {
    clearTimeout(this.#idle);
  }

  /** Ends all deadlines with the session. */
  stop(): void {
    this.rest();
    clearTimeout(this.#total);
  }

  #watchIdle(silence: Silence, ms: number): void {
    this.#idle = setTimeout(() => {
      if (this.#options.waits()) this.heard();
      const left = silence.idleMs - (performance.now() - this.#heardAt);
      if (left <= 0) silence.onIdle(silence.idleMs);
      else this.#watchIdle(silence, left);
    }, clamp(ms));
  }
}

function clamp(ms: number): number {
  return Math.min(Math.max(Math.ceil(ms), 1), 2 ** 31 - 1);
}
