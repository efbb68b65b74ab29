/** A rate with a burst of one second: what is taken beyond it has to be waited for, or is an offence. */
export class TokenBucket {
  readonly #perSecond: number;
  #tokens: number;
  #at: number;

  /** @param now milliseconds of a clock that never goes back; the same one is given to {@link take} */
  constructor(perSecond: number, now: number) {
    this.#perSecond = perSecond;
    this.#tokens = perSecond;
    this.#at = now;
  }

  /** Takes tokens, also those that are not there yet; gives the milliseconds until they will be, 0 for at once. */
  take(count: number, now: number): number {
    this.#tokens = Math.min(this.#perSecond, this.#tokens + (now - this.#at) * this.#perSecond / 1000) - count;
    this.#at = now;
    return this.#tokens >= 0 ? 0 : -this.#tokens * 1000 / this.#perSecond;
  }
}
