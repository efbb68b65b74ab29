import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { onNextTurn } from "../../ground/runtime/next-turn.ts";

/** Options of {@link eventStream}. */
export interface EventStreamOptions {
  events: AsyncIterable<Envelope>;
  /** The text of an envelope; null for one that is left out. */
  frame(envelope: Envelope): string | null;
  /** Text that is sent when there is no event. */
  idle(): string;
  /** Whether the stream may go on; asked about as often as the heart beats, however much there is to tell. */
  mayGoOn(): Promise<boolean>;
  heartbeatMs: number;
  /** Called once when the stream is over, however that came. */
  done(): void;
}

/** Characters that wait for a client; more are read only when it has taken these. */
const mostHeld = 256 * 1024;
/** Envelopes that are read before other work has its turn. */
const inOneTurn = 256;

/**
 * Envelopes as a stream of bytes for one client. It reads ahead a little, so that what comes in one turn goes out in one
 * piece; a client that is slow makes it wait.
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
      // Events of this turn are sent together.
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
