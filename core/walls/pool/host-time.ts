import { startBackgroundTimer } from "../../ground/runtime/background-timer.ts";
import { onNextTurn } from "../../ground/runtime/next-turn.ts";
import { TokenBucket } from "../../ground/checks/token-bucket.ts";

/** Milliseconds that one plugin's messages may take in one turn of the event loop; the message that exceeds it is done. */
const turnMs = 5;

/** What {@link HostTime} needs. */
export interface HostTimeOptions {
  /** Milliseconds of the host's time that the plugin may cost in a second. */
  perSecond: number;
  /** Handles one payload, a view that is valid during the call. */
  take(lane: number, payload: Uint8Array): void;
  /** Handling one failed. */
  onFault(error: unknown): void;
  /** Asks the source to send nothing more, or to go on. */
  hold?(isHeld: boolean): void;
}

/**
 * What one plugin's messages cost the host, and what follows from it. All plugins share the host's one thread: messages
 * that took their few milliseconds of a turn wait for the next one, and those of a plugin beyond its share of the time
 * wait at their source, which blocks the plugin and no other one. Messages keep their order.
 */
export class HostTime {
  readonly #options: HostTimeOptions;
  readonly #share: TokenBucket;
  #waiting: { lane: number; payload: Uint8Array }[] = [];
  /** Milliseconds that the messages took of late; what passes between two of them is taken off. */
  #spentMs = 0;
  #endedAt = 0;
  /** When the bucket holds time again. */
  #freeAt = 0;
  #heldSince: number | null = null;
  #heldMs = 0;

  constructor(options: HostTimeOptions) {
    this.#options = options;
    this.#share = new TokenBucket(options.perSecond, performance.now());
  }

  /** Handles a payload now, or copies it to handle it later. */
  push(lane: number, payload: Uint8Array): void {
    if (this.#heldSince === null && this.#mayRun(performance.now())) return this.#run(lane, payload);
    this.#waiting.push({ lane, payload: payload.slice() });
    this.#hold();
  }

  /** Charges time that a message cost after it was handled, such as its write to the journal. */
  charge(ms: number): void {
    const now = performance.now();
    this.#freeAt = now + this.#share.take(ms, now);
  }

  /** Milliseconds for which messages were held back so far. */
  get heldMs(): number {
    return this.#heldMs + (this.#heldSince === null ? 0 : performance.now() - this.#heldSince);
  }

  /** Handles all that waits: nothing more will come. */
  finish(): void {
    for (const { lane, payload } of this.#waiting.splice(0)) this.#run(lane, payload);
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
    if (this.#heldSince !== null) return;
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
    for (; done < this.#waiting.length && this.#mayRun(performance.now()); done++) {
      const { lane, payload } = this.#waiting[done]!;
      this.#run(lane, payload);
    }
    this.#waiting.splice(0, done);
    if (this.#waiting.length > 0) return this.#plan();
    this.#heldMs = this.heldMs;
    this.#heldSince = null;
    this.#options.hold?.(false);
  }
}
