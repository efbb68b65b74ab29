import { startBackgroundTimer } from "../../ground/platform/engine/background-timer.ts";
import { onNextTurn } from "../../ground/platform/engine/next-turn.ts";
import { TokenBucket } from "../../ground/checks/token-bucket.ts";

/**
 * Milliseconds that one plugin's messages may take in one turn of the event loop; the message that exceeds it is done.
 */
const turnMs = 5;

interface HostTimeOptions {
  /** Milliseconds of the host's time that the plugin may use in a second. */
  perSecond: number;
  /** Handles one payload, a view that is valid during the call. */
  take(lane: number, payload: Uint8Array): void;
  /** Called when handling a payload failed. */
  onFault(error: unknown): void;
  /** Asks the source to pause or resume sending. */
  hold?(isHeld: boolean): void;
}

/**
 * Measures and limits the host time of one plugin's messages. All plugins share the host's one thread: messages that
 * exceed their few milliseconds of a turn wait for the next one, and those of a plugin beyond its share of the time
 * wait at their source, which blocks only that plugin. Messages keep their order.
 */
export class HostTime {
  readonly #options: HostTimeOptions;
  readonly #share: TokenBucket;
  #waiting: (() => void)[] = [];
  /** Recent milliseconds of message handling; the time between two messages is deducted. */
  #spentMs = 0;
  #endedAt = 0;
  /** Time at which the bucket has credit again. */
  #freeAt = 0;
  #heldSince: number | null = null;
  #heldMs = 0;

  constructor(options: HostTimeOptions) {
    this.#options = options;
    this.#share = new TokenBucket(options.perSecond, performance.now());
  }

  /** Handles a payload now, or copies it to handle it later. */
  push(lane: number, payload: Uint8Array): void {
    if (!this.isHeld && this.#mayRun(performance.now())) return this.#run(lane, payload);
    const copy = payload.slice();
    this.#waiting.push(() => this.#run(lane, copy));
    this.#hold();
  }

  /** Calls `then` when all that was pushed before is handled. */
  after(then: () => void): void {
    if (this.#waiting.length === 0) then();
    else this.#waiting.push(then);
  }

  /** Whether messages wait, and the source is asked to pause. */
  get isHeld(): boolean {
    return this.#heldSince !== null;
  }

  /** Charges time that a message cost after it was handled, for example its write to the journal. */
  charge(ms: number): void {
    const now = performance.now();
    this.#freeAt = now + this.#share.take(ms, now);
  }

  /** Milliseconds for which messages were held back so far. */
  get heldMs(): number {
    return this.#heldMs + (this.#heldSince === null ? 0 : performance.now() - this.#heldSince);
  }

  /** Handles all waiting messages: no more will come. */
  finish(): void {
    for (const run of this.#waiting.splice(0)) run();
  }

  #mayRun(now: number): boolean {
    this.#spentMs = Math.max(0, this.#spentMs - (now - this.#endedAt));
    this.#endedAt = now;
    return this.#spentMs < turnMs && now >= this.#freeAt;
  }

  #run(lane: number, payload: Uint8Array): void {
    const started = performance.now();
    try {
      this.#options.take(lane, payload);
    } catch (error) {
      this.#options.onFault(error);
    }
    const now = performance.now();
    this.#spentMs += now - started;
    this.#endedAt = now;
    this.#freeAt = now + this.#share.take(now - started, now);
  }

  #hold(): void {
    if (this.isHeld) return;
    this.#heldSince = performance.now();
    this.#options.hold?.(true);
    this.#plan();
  }

  #plan(): void {
    const waitMs = this.#freeAt - performance.now();
    if (waitMs > 0) startBackgroundTimer(() => this.#drain(), Math.ceil(waitMs));
    else onNextTurn(() => this.#drain());
  }

  #drain(): void {
    this.#spentMs = 0;
    let done = 0;
    for (; done < this.#waiting.length && this.#mayRun(performance.now()); done++) this.#waiting[done]!();
    this.#waiting.splice(0, done);
    if (this.#waiting.length > 0) return this.#plan();
    this.#heldMs = this.heldMs;
    this.#heldSince = null;
    this.#options.hold?.(false);
  }
}
