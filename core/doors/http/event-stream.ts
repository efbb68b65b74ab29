import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { onNextTurn } from "../../ground/runtime/next-turn.ts";

/** Options of {@link eventStream}. */
interface EventStreamOptions {
  events: AsyncIterable<Envelope>;
  /** Formats an envelope; null leaves it out. */
  frame(envelope: Envelope): string | null;
  /** Text to send after a time without events. */
  idle(): string;
  /** Whether the stream may go on; asked about once per heartbeat, even on a busy stream. */
  mayGoOn(): Promise<boolean>;
  heartbeatMs: number;
  /** Called once when the stream is over, for any reason. */
  done(): void;
}

/** Characters that wait for a client; more are read only after it has taken these. */
const mostHeld = 256 * 1024;
/** Envelopes to read before other work gets its turn. */
const inOneTurn = 256;

/**
 * Streams envelopes as bytes to one client. Reads ahead a little, so that the events of one turn go out in one piece; a
 * slow client makes it wait.
 */
export function eventStream(options: EventStreamOptions): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(new FramedEvents(options), { highWaterMark: 0 });
}

class FramedEvents {
  readonly #options: EventStreamOptions;
  readonly #events: AsyncIterator<Envelope>;
  readonly #encoder = new TextEncoder();
  #held = "";
  #over = false;
  #askedAt = performance.now();
  #failure: unknown = null;
  #wakeReader: (() => void) | null = null;
  #wakeWriter: (() => void) | null = null;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.#events = options.events[Symbol.asyncIterator]();
  }

  start(): void {
    void this.#readAhead();
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    if (this.#held === "" && !this.#over) await this.#somethingOr(this.#options.heartbeatMs);
    // Wait for the other events of this turn: they go out in the same piece.
    if (this.#held !== "" && !this.#over) await new Promise<void>(onNextTurn);
    await this.#askOnceIn(this.#options.heartbeatMs);
    if (this.#held !== "") {
      controller.enqueue(this.#encoder.encode(this.#held));
      this.#held = "";
      this.#wakeWriter?.();
    } else if (!this.#over) {
      controller.enqueue(this.#encoder.encode(this.#options.idle()));
    } else if (this.#failure === null) {
      controller.close();
    } else {
      controller.error(this.#failure);
    }
  }

  cancel(): void {
    this.#end();
  }

  async #readAhead(): Promise<void> {
    try {
      for (let count = 1; !this.#over; count++) {
        const next = await this.#events.next();
        if (next.done || this.#over) break;
        const text = this.#options.frame(next.value);
        if (text !== null) {
          this.#held += text;
          this.#wakeReader?.();
        }
        if (this.#held.length > mostHeld) await new Promise<void>((resolve) => (this.#wakeWriter = resolve));
        else if (count % inOneTurn === 0) await new Promise<void>(onNextTurn);
      }
    } catch (error) {
      this.#failure = error;
    } finally {
      this.#end();
    }
  }

  async #askOnceIn(ms: number): Promise<void> {
    if (this.#over || performance.now() - this.#askedAt < ms) return;
    this.#askedAt = performance.now();
    if (await this.#options.mayGoOn()) return;
    this.#held = "";
    this.#end();
  }

  #end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#wakeReader?.();
    this.#wakeWriter?.();
    this.#options.done();
    void Promise.resolve(this.#events.return?.()).catch(() => {});
  }

  #somethingOr(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#wakeReader = null;
        resolve();
      };
      const timer = setTimeout(wake, ms);
      this.#wakeReader = wake;
    });
  }
}
