import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { joinBytes } from "../../ground/platform/files/join-bytes.ts";
import { nextTurn } from "../../ground/platform/engine/next-turn.ts";
import { batchesOf, type EnvelopeBatch } from "../../sessions/session/envelope-batches.ts";

interface EventStreamOptions {
  events: AsyncIterable<Envelope>;
  /** Formats an envelope; null leaves it out. */
  frame(envelope: Envelope): string | null;
  /** Formats a batch that other readers get as well; null when its envelopes must be formatted one by one. */
  frameShared?(envelopes: readonly Envelope[]): Uint8Array | null;
  /** Text to send after a time without events. */
  idle(): string;
  heartbeatMs: number;
  /** Called once when the stream is over, for any reason. */
  done(): void;
}

/** Bytes that wait for a client; more are read only after it has taken these. */
const mostHeld = 256 * 1024;
/** Bytes from which a piece is not copied: a slow reader holds no bytes of its own then. */
const largePiece = 16 * 1024;
/** Envelopes to read before other work gets its turn. */
const inOneTurn = 256;

/** Streams envelopes as bytes to one client, those of one turn in one piece. A slow client makes it wait. */
export function eventStream(options: EventStreamOptions): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(new FramedEvents(options), { highWaterMark: 0 });
}

class FramedEvents {
  readonly #options: EventStreamOptions;
  readonly #batches: AsyncIterator<EnvelopeBatch, void>;
  readonly #encoder = new TextEncoder();
  /** Bytes that wait for the client, and after them text that is not encoded yet. */
  #held: Uint8Array[] = [];
  #heldText = "";
  #heldBytes = 0;
  /** Envelopes that were read in this turn, about. */
  #inTurn = 0;
  #over = false;
  #waitsSince = 0;
  #heartbeat: ReturnType<typeof setTimeout> | null = null;
  #failure: unknown = null;
  #wakeReader: (() => void) | null = null;
  #wakeWriter: (() => void) | null = null;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.#batches = batchesOf(options.events);
  }

  start(): void {
    void this.#readAhead();
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    if (this.#heldBytes === 0 && !this.#over) await this.#somethingOrHeartbeat();
    // Wait for the other events of this turn: they go out in the same piece.
    if (this.#heldBytes > 0 && !this.#over) await nextTurn();
    if (this.#heldBytes > 0) {
      for (const piece of this.#takeHeld()) controller.enqueue(piece);
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
      while (!this.#over) {
        const next = await this.#batches.next();
        if (next.done || this.#over) break;
        if (!this.#holdShared(next.value)) await this.#holdEach(next.value);
        else if (this.#mustPause()) await this.#pause();
      }
    } catch (error) {
      this.#failure = error;
    } finally {
      this.#end();
    }
  }

  /** Holds a batch for the client as the bytes that all its readers share; false where it must be formatted. */
  #holdShared({ envelopes, isShared }: EnvelopeBatch): boolean {
    const bytes = isShared ? this.#options.frameShared?.(envelopes) ?? null : null;
    if (bytes === null) return false;
    this.#encodeText();
    this.#held.push(bytes);
    this.#noteHeld(bytes.length);
    this.#inTurn += envelopes.length;
    return true;
  }

  async #holdEach({ envelopes }: EnvelopeBatch): Promise<void> {
    for (const envelope of envelopes) {
      if (this.#over) return;
      const text = this.#options.frame(envelope);
      if (text !== null) {
        this.#heldText += text;
        this.#noteHeld(text.length);
      }
      this.#inTurn++;
      if (this.#mustPause()) await this.#pause();
    }
  }

  #noteHeld(bytes: number): void {
    this.#heldBytes += bytes;
    this.#wakeReader?.();
  }

  #mustPause(): boolean {
    return this.#heldBytes > mostHeld || this.#inTurn >= inOneTurn;
  }

  /** Resolves once the client has taken what waits, or other work had its turn. */
  async #pause(): Promise<void> {
    this.#inTurn = 0;
    if (this.#heldBytes <= mostHeld) await nextTurn();
    else await new Promise<void>((resolve) => (this.#wakeWriter = resolve));
  }

  #encodeText(): void {
    if (this.#heldText === "") return;
    this.#held.push(this.#encoder.encode(this.#heldText));
    this.#heldText = "";
  }

  #takeHeld(): Uint8Array[] {
    this.#encodeText();
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    return joinSmall(held);
  }

  #end(): void {
    if (this.#over) return;
    this.#over = true;
    if (this.#heartbeat !== null) clearTimeout(this.#heartbeat);
    this.#wakeReader?.();
    this.#wakeWriter?.();
    this.#options.done();
    void Promise.resolve(this.#batches.return?.()).catch(() => {});
  }

  #somethingOrHeartbeat(): Promise<void> {
    this.#waitsSince = performance.now();
    // One timer for many waits: starting and stopping one for each event costs as much as to send the event.
    if (this.#heartbeat === null) this.#wakeAfter(this.#options.heartbeatMs);
    return new Promise((resolve) => {
      this.#wakeReader = () => {
        this.#wakeReader = null;
        resolve();
      };
    });
  }

  #wakeAfter(ms: number): void {
    this.#heartbeat = setTimeout(() => {
      this.#heartbeat = null;
      const left = this.#waitsSince + this.#options.heartbeatMs - performance.now();
      if (this.#wakeReader === null) return;
      if (left > 0) this.#wakeAfter(Math.ceil(left));
      else this.#wakeReader();
    }, ms);
  }
}

/** Joins small neighbours, since each piece is a write. A large piece stays the one that all readers share. */
function joinSmall(pieces: readonly Uint8Array[]): Uint8Array[] {
  const joined: Uint8Array[] = [];
  let small: Uint8Array[] = [];
  const flush = () => {
    if (small.length > 0) joined.push(small.length === 1 ? small[0]! : joinBytes(small));
    small = [];
  };
  for (const piece of pieces) {
    if (piece.length < largePiece) {
      small.push(piece);
      continue;
    }
    flush();
    joined.push(piece);
  }
  flush();
  return joined;
}
