import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { onNextTurn } from "../../ground/runtime/next-turn.ts";

/** Options of {@link eventStream}. */
export interface EventStreamOptions {
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
  const { events, frame, idle, mayGoOn, heartbeatMs, done } = options;
  const iterator = events[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  let held = "";
  let over = false;
  let askedAt = performance.now();
  let failure: unknown = null;
  let wakeReader: (() => void) | null = null;
  let wakeWriter: (() => void) | null = null;

  const end = () => {
    if (over) return;
    over = true;
    wakeReader?.();
    wakeWriter?.();
    done();
    void Promise.resolve(iterator.return?.()).catch(() => {});
  };

  async function readAhead(): Promise<void> {
    try {
      for (let count = 1; !over; count++) {
        const next = await iterator.next();
        if (next.done || over) break;
        const text = frame(next.value);
        if (text !== null) {
          held += text;
          wakeReader?.();
        }
        if (held.length > mostHeld) await new Promise<void>((resolve) => (wakeWriter = resolve));
        else if (count % inOneTurn === 0) await new Promise<void>(onNextTurn);
      }
    } catch (error) {
      failure = error;
    } finally {
      end();
    }
  }

  return new ReadableStream<Uint8Array>({
    start: () => void readAhead(),
    async pull(controller) {
      if (held === "" && !over) await somethingOr(heartbeatMs);
      // Wait for the other events of this turn: they go out in the same piece.
      if (held !== "" && !over) await new Promise<void>(onNextTurn);
      if (!over && performance.now() - askedAt >= heartbeatMs) {
        askedAt = performance.now();
        if (!(await mayGoOn())) {
          held = "";
          end();
        }
      }
      if (held !== "") {
        controller.enqueue(encoder.encode(held));
        held = "";
        wakeWriter?.();
      } else if (over) {
        if (failure === null) controller.close();
        else controller.error(failure);
      } else controller.enqueue(encoder.encode(idle()));
    },
    cancel: end,
  }, { highWaterMark: 0 });

  function somethingOr(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        wakeReader = null;
        resolve();
      };
      const timer = setTimeout(wake, ms);
      wakeReader = wake;
    });
  }
}
