/** What a session's deadlines are made from. */
export interface DeadlineOptions {
  totalMs: number;
  onTotal(ms: number): void;
  /** True while the agent is silent because it waits for somebody. */
  waits(): boolean;
}

/** What an attempt's silence is held to. */
export interface Silence {
  idleMs: number;
  onIdle(ms: number): void;
}

/**
 * A session's total deadline, which nothing pauses once its first attempt has begun, and the idle deadline of its
 * present attempt, which every sign of life moves on.
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

  /** Until the total deadline. */
  get leftMs(): number {
    return this.#startedAt === null ? this.totalMs : this.totalMs - (performance.now() - this.#startedAt);
  }

  /** An attempt begins; the first one starts the total deadline. */
  begin(silence: Silence): void {
    if (this.#startedAt === null) {
      this.#startedAt = performance.now();
      this.#total = setTimeout(() => this.#options.onTotal(this.totalMs), clamp(this.totalMs));
    }
    this.heard();
    this.#watchIdle(silence, silence.idleMs);
  }

  /** A sign of life; only notes the time, so that a busy stream sets no timers. */
  heard(): void {
    this.#heardAt = performance.now();
  }

  /** The attempt is over: nobody is there to be silent. */
  rest(): void {
    clearTimeout(this.#idle);
  }

  /** The session is over. */
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
