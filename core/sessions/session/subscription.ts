import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { EventQuery } from "../../../plugin-sdk/queries.ts";
import { ByteQueue } from "../../walls/channel/byte-queue.ts";
import type { Cursor, ReadOptions } from "../../records/journal/journal.ts";
import type { BatchedEvents, EnvelopeBatch } from "./envelope-batches.ts";

/** Options of a subscription. */
export interface SubscriptionOptions {
  after?: Cursor | undefined;
  /** Only this session; the subscription ends with it. */
  sessionId?: string | undefined;
  /** Leaves out envelopes up to this `seq`; requires `sessionId`. */
  afterSeq?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Most envelopes that are read from the journal at a time. Default 4096. */
  readAhead?: number | undefined;
  /**
   * Most bytes held for a slow reader; beyond them it reads from the journal. Default 4 MiB, and the reader may hold as
   * much again: with small events that is more than one session can send on credit, so a reader that only waits for its
   * turn does not fall back to the journal.
   */
  heldBytes?: number | undefined;
}

interface Source {
  read(options: ReadOptions): Promise<Envelope[]>;
  closed(): void;
}

const defaultReadAhead = 4096;
/** Bytes held for a reader that has not started to read and may never do so: the length of a short session. */
const heldUnread = 64 * 1024;
/** Size of an envelope without its event's text. Bytes. */
const envelopeBytes = 256;

/** One reader of the merged log, of bounded bytes. A slow one catches up from the journal and loses nothing. */
export class Subscription implements BatchedEvents {
  readonly #source: Source;
  readonly #sessionId: string | undefined;
  readonly #readAhead: number;
  #isRead = false;
  readonly #signal: AbortSignal | undefined;
  /** Like the signal's own answer, which takes longer. */
  #isAborted: boolean;
  /** `seq` of the last envelope read of the one session. */
  #seq: number;
  #cursor: Cursor;
  /** Whole batches: none is held in part. */
  readonly #held: ByteQueue<EnvelopeBatch>;
  /** True when held envelopes were dropped: the journal must be read up to the next held envelope. */
  #behind: boolean;
  #finished = false;
  /** Why nothing more comes although the session has not ended in the journal. */
  #failure: { error: unknown } | null = null;
  #wake: (() => void) | null = null;
  /** Batches that were taken from the held ones or the journal. */
  #ready: EnvelopeBatch[] = [];
  /** Envelopes of the batch that is read one by one, and the place of the next one. */
  #page: readonly Envelope[] = [];
  #at = 0;
  /** True when the last batch was taken. */
  #isOver = false;
  #filling: Promise<unknown> = Promise.resolve();

  /** @param options `isLive`: nothing after the cursor has been added yet, so all of it will be offered */
  constructor(options: SubscriptionOptions & { after: Cursor; isLive: boolean }, source: Source) {
    this.#source = source;
    this.#sessionId = options.sessionId;
    this.#held = new ByteQueue(options.heldBytes ?? 4 * 1024 * 1024);
    this.#readAhead = options.readAhead ?? defaultReadAhead;
    this.#signal = options.signal;
    this.#isAborted = options.signal?.aborted ?? false;
    this.#cursor = options.after;
    this.#seq = options.afterSeq ?? 0;
    this.#behind = !options.isLive;
    options.signal?.addEventListener("abort", this.#stop, { once: true });
  }

  /**
   * Receives a batch that has just become durable, with the size of its text in bytes. A batch of several sessions is
   * for subscriptions to all of them.
   */
  offer(batch: EnvelopeBatch, bytes: number): void {
    const { envelopes } = batch;
    const wanted = this.#sessionId === undefined || envelopes[0]?.session_id === this.#sessionId;
    if (!wanted || this.#finished) return;
    if (!this.#behind && !this.#hold(batch, bytes + envelopes.length * envelopeBytes)) {
      this.#held.takeAll();
      this.#behind = true;
    }
    this.#wakeUp();
  }

  #hold(batch: EnvelopeBatch, bytes: number): boolean {
    return (this.#isRead || this.#held.bytes + bytes <= heldUnread) && this.#held.offer(batch, bytes);
  }

  /** Releases the held events once the journal has all of them; later reads come from there. */
  settle(): void {
    this.#held.takeAll();
    this.#behind = true;
    this.finish();
    this.#source.closed();
  }

  /** Marks the end: no more batches will be offered. */
  finish(): void {
    this.#finished = true;
    this.#wakeUp();
  }

  /** Marks the end of a session whose last event could not be written: after the written ones, reading rejects. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.finish();
  }

  /** Reads from the cursor on. Leaving the loop ends it. A generator would make three promises an event. */
  [Symbol.asyncIterator](): AsyncIterator<Envelope, void> {
    return this.#iterator(() => this.#take(), () => this.#fill());
  }

  batches(): AsyncIterator<EnvelopeBatch, void> {
    return this.#iterator(() => this.#takeBatch(), () => this.#nextBatch());
  }

  #iterator<T>(
    take: () => IteratorResult<T, void> | null,
    fill: () => Promise<IteratorResult<T, void>>,
  ): AsyncIterator<T, void> {
    this.#isRead = true;
    return {
      next: () => {
        const ready = take();
        return ready === null ? this.#inTurn(fill) : Promise.resolve(ready);
      },
      return: () => Promise.resolve(this.#end()),
    };
  }

  #inTurn<T>(read: () => Promise<T>): Promise<T> {
    const done = this.#filling.then(read);
    this.#filling = done.catch(() => {});
    return done;
  }

  /** Returns the next envelope of the page; null when it has no more. */
  #take(): IteratorYieldResult<Envelope> | null {
    const value = this.#page[this.#at++];
    return value === undefined ? null : { done: false, value };
  }

  async #fill(): Promise<IteratorResult<Envelope, void>> {
    const ready = this.#take();
    if (ready !== null) return ready;
    const { done, value } = await this.#nextBatch();
    if (done) return { done, value: undefined };
    this.#page = value.envelopes;
    this.#at = 1;
    return { done: false, value: value.envelopes[0]! };
  }

  /** Gets batches until one has an envelope for the reader. */
  async #nextBatch(): Promise<IteratorResult<EnvelopeBatch, void>> {
    try {
      for (;;) {
        const ready = this.#takeBatch();
        if (ready !== null) return ready;
        this.#ready = this.#isOver ? [] : await this.#moreBatches();
        if (this.#ready.length === 0) return this.#end();
      }
    } catch (error) {
      this.#end();
      throw error;
    }
  }

  /** Returns the next ready batch that has an envelope for the reader; null when there is none. */
  #takeBatch(): IteratorYieldResult<EnvelopeBatch> | null {
    while (!this.#isOver) {
      const batch = this.#ready.shift();
      if (batch === undefined) return null;
      this.#cursor = batch.envelopes.at(-1)!.gseq;
      const value = this.#sessionId === undefined ? batch : this.#wantedOf(batch);
      if (value.envelopes.length > 0) return { done: false, value };
    }
    return null;
  }

  /** Leaves out what the reader of one session has already, and what follows the session's end. */
  #wantedOf(batch: EnvelopeBatch): EnvelopeBatch {
    const wanted: Envelope[] = [];
    let isWhole = true;
    for (const envelope of batch.envelopes) {
      const { seq, event } = envelope;
      const { type } = event;
      const isNew = !this.#isOver && seq > this.#seq;
      this.#isOver ||= type === "session_ended" || (type === "gap" && event.damaged !== true);
      isWhole &&= isNew && type !== "gap";
      if (!isNew) continue;
      wanted.push(type === "gap" ? beginningAt(this.#seq + 1, envelope) : envelope);
      this.#seq = seq;
    }
    return isWhole ? batch : { envelopes: wanted, isShared: false };
  }

  /** Resolves to the next batches, once there are some; none at the end. */
  async #moreBatches(): Promise<EnvelopeBatch[]> {
    while (!this.#isAborted) {
      const batches = await this.#next();
      if (batches.length > 0) return batches;
      if (this.#held.length > 0 || this.#behind) continue;
      if (this.#finished && this.#failure !== null) throw this.#failure.error;
      if (this.#finished) break;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    return [];
  }

  #end(): IteratorReturnResult<void> {
    this.#isOver = true;
    this.#ready = [];
    this.#page = [];
    this.#signal?.removeEventListener("abort", this.#stop);
    this.#held.takeAll();
    this.#behind = false;
    this.finish();
    this.#source.closed();
    return { done: true, value: undefined };
  }

  async #next(): Promise<EnvelopeBatch[]> {
    if (!this.#behind) return this.#held.takeAll().flatMap((batch) => this.#newOf(batch) ?? []);
    // From here on, hold offers again.
    this.#behind = false;
    const sessionId = this.#sessionId;
    const page = await this.#source.read({
      after: this.#cursor,
      limit: this.#readAhead,
      sessionId,
    });
    // A page may end anywhere: only an empty one, or one that reaches the held events, has caught up.
    const last = page.at(-1)?.gseq ?? this.#cursor;
    const caughtUp = page.length === 0 || last >= (this.#held.peek()?.envelopes[0]?.gseq ?? Infinity);
    if (!caughtUp) this.#held.takeAll();
    this.#behind ||= !caughtUp;
    return page.length === 0 ? [] : [{ envelopes: page, isShared: false }];
  }

  /** Drops what the last page already had. A batch that was being written when this began may lie before its cursor. */
  #newOf(batch: EnvelopeBatch): EnvelopeBatch | null {
    const isNew = ({ gseq }: Envelope) => gseq > this.#cursor;
    if (isNew(batch.envelopes[0]!)) return batch;
    const envelopes = batch.envelopes.filter(isNew);
    return envelopes.length === 0 ? null : { envelopes, isShared: false };
  }

  readonly #stop = (): void => {
    this.#isAborted = true;
    this.#wakeUp();
  };

  #wakeUp(): void {
    this.#wake?.();
    this.#wake = null;
  }
}

/** Narrows a gap to the events that the reader does not have yet. */
function beginningAt(from: number, { event, ...envelope }: Envelope): Envelope {
  return { ...envelope, event: event.type === "gap" ? { ...event, from_seq: Math.max(from, event.from_seq) } : event };
}

/** Gives a subscription away once, to a reader that wants all of it. */
export function onceFor(events: Subscription): (query: EventQuery) => AsyncIterable<Envelope> | null {
  let taken = false;
  return ({ after = 0, signal }) => {
    if (taken || after > 0 || signal !== undefined) return null;
    taken = true;
    return events;
  };
}
