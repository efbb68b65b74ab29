/** What a session's deadlines are made from. */
export interface DeadlineOptions {
  totalMs: number;
  idleMs: number;
  onTotal(ms: number): void;
  onIdle(ms: number): void;
}

/** The total deadline, which nothing pauses, and the idle deadline, which every sign of life moves on. */
export class Deadlines {
  readonly totalMs: number;
  readonly idleMs: number;
  readonly #options: DeadlineOptions;
  #heardAt = 0;
  #total: ReturnType<typeof setTimeout> | undefined;
  #idle: ReturnType<typeof setTimeout> | undefined;

  constructor(options: DeadlineOptions) {
    this.#options = options;
    this.totalMs = options.totalMs;
    this.idleMs = options.idleMs;
  }

  start(): void {
    this.heard();
    this.#total = setTimeout(() => this.#options.onTotal(this.totalMs), clamp(this.totalMs));
    this.#watchIdle(this.idleMs);
  }

  /** A sign of life; only notes the time, so that a busy stream sets no timers. */
  heard(): void {
    this.#heardAt = performance.now();
  }

  stop(): void {
    clearTimeout(this.#total);
    clearTimeout(this.#idle);
  }

  #watchIdle(ms: number): void {
    this.#idle = setTimeout(() => {
      const left = this.idleMs - (performance.now() - this.#heardAt);
      if (left <= 0) this.#options.onIdle(this.idleMs);
      else this.#watchIdle(left);
    }, clamp(ms));
  }
}

function clamp(ms: number): number {
  return Math.min(Math.max(Math.ceil(ms), 1), 2 ** 31 - 1);
}
