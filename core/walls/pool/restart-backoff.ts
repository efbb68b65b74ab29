import type { Limits } from "../../ground/config/limits.ts";

/** Limits of a back-off. */
type BackoffLimits = Pick<Limits, "restart_backoff_ms" | "restart_backoff_max_ms" | "restart_healthy_ms">;

/**
 * How long a plugin that crashes waits for its next worker: not at all after the first crash, then `restart_backoff_ms`,
 * and twice as long each time up to `restart_backoff_max_ms`. `restart_healthy_ms` without a crash start it over.
 */
export class RestartBackoff {
  readonly #limits: BackoffLimits;
  #crashes = 0;
  #lastCrash = -Infinity;

  constructor(limits: BackoffLimits) {
    this.#limits = limits;
  }

  /** Notes a crash; `now` is of a clock that never goes back. */
  crashed(now: number): void {
    if (now - this.#lastCrash >= this.#limits.restart_healthy_ms) this.#crashes = 0;
    this.#crashes++;
    this.#lastCrash = now;
  }

  /** Starts over: the operator has acted. */
  forget(): void {
    this.#crashes = 0;
    this.#lastCrash = -Infinity;
  }

  /** Milliseconds until the next worker may be started. */
  waitMs(now: number): number {
    if (this.#crashes <= 1) return 0;
    const { restart_backoff_ms, restart_backoff_max_ms } = this.#limits;
    const pause = Math.min(restart_backoff_ms * 2 ** Math.min(this.#crashes - 2, 52), restart_backoff_max_ms);
    return Math.max(0, this.#lastCrash + pause - now);
  }
}
