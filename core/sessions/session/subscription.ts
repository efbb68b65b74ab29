import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { ByteQueue } from "../../walls/channel/byte-queue.ts";
import type { Cursor, ReadOptions } from "../../records/journal/journal.ts";

/** Options of a subscription. */
export interface SubscriptionOptions {
  after?: Cursor | undefined;
  /** Only this session; the subscription ends with it. */
  sessionId?: string | undefined;
  /** Leaves out envelopes up to this `seq`; requires `sessionId`. */
  afterSeq?: number | undefined;
  signal?: AbortSignal | undefined;
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

const pageSize = 4096;
/** Bytes held for a reader that has not started to read and may never do so: the length of a short session. */
const heldUnread = 64 * 1024;
/** Size of an envelope without its event's text. Bytes. */
const envelopeBytes = 256;

/**
 * One reader of the merged log. It holds a bounded number of bytes: a reader that is slower than the sessions catches
 * up from the journal and loses nothing.
 */
export class Subscription implements AsyncIterable<Envelope> {
  readonly #source: Source;
  readonly #sessionId: string | undefined;
  #isRead = false;
  readonly #signal: AbortSignal | undefined;
  /** `seq` of the last envelope read of the one session. */
  #seq: number;
  #cursor: Cursor;
  /** Whole batches: none is held in part. */
  readonly #held: ByteQueue<readonly Envelope[]>;
  /** True when held envelopes were dropped: the journal must be read up to the next held envelope. */
  #behind: boolean;
  #finished = false;
  #wake: (() => void) | null = null;
  /** Envelopes that were taken from the held ones or the journal, and the place of the next one. */
  #page: readonly Envelope[] = [];
  #at = 0;
  /** True when the reader has all that it gets. */
  #isOver = false;
  #filling: Promise<unknown> = Promise.resolve();

  /** @param options `isLive`: nothing after the cursor has been added yet, so all of it will be offered */
  constructor(options: SubscriptionOptions & { after: Cursor; isLive: boolean }, source: Source) {
    this.#source = source;
    this.#sessionId = options.sessionId;
    this.#held = new ByteQueue(options.heldBytes ?? 4 * 1024 * 1024);
    this.#signal = options.signal;
    this.#cursor = options.after;
    this.#seq = options.afterSeq ?? 0;
    this.#behind = !options.isLive;
    options.signal?.addEventListener("abort", this.#stop, { once: true });
  }

  /** Receives a batch of one session that has just become durable, with the size of its text in bytes. */
  offer(envelopes: readonly Envelope[], bytes: number): void {
    const wanted = this.#sessionId === undefined || envelopes[0]?.session_id === this.#sessionId;
    if (!wanted || this.#finished) return;
    if (!this.#behind && !this.#hold(envelopes, bytes + envelopes.length * envelopeBytes)) {
      this.#held.takeAll();
      this.#behind = true;
    }
    this.#wakeUp();
  }

  #hold(envelopes: readonly Envelope[], bytes: number): boolean {
    return (this.#isRead || this.#held.bytes + bytes <= heldUnread) && this.#held.offer(envelopes, bytes);
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

  /**
   * Reads from the cursor on. Leaving the loop ends the subscription. Not a generator, which makes three promises for
   * each event instead of one.
   */
  [Symbol.asyncIterator](): AsyncIterator<Envelope, void> {
    this.#isRead = true;
    return {
      next: () => {
        const ready = this.#take();
        if (ready !== null) return Promise.resolve(ready);
        const filled = this.#filling.then(() => this.#fill());
        this.#filling = filled.catch(() => {});
        return filled;
      },
      return: () => Promise.resolve(this.#end()),
    };
  }

  /** Returns the next envelope of the page; null when it has no more. */
  #take(): IteratorYieldResult<Envelope> | null {
    for (;;) {
      const value = this.#isOver ? undefined : this.#page[this.#at++];
      if (value === undefined) return null;
      this.#cursor = value.gseq;
      if (this.#sessionId === undefined) return { done: false, value };
      const { type } = value.event;
      this.#isOver = type === "session_ended" || type === "gap";
      if (value.seq <= this.#seq) continue;
      const from = this.#seq + 1;
      this.#seq = value.seq;
      return { done: false, value: type === "gap" ? beginningAt(from, value) : value };
    }
  }

  /** Gets pages until one has an envelope for the reader. */
  async #fill(): Promise<IteratorResult<Envelope, void>> {
    try {
      for (;;) {
        const ready = this.#take();
        if (ready !== null) return ready;
        this.#page = this.#isOver ? [] : await this.#nextPage();
        this.#at = 0;
        if (this.#page.length === 0) return this.#end();
      }
    } catch (error) {
      this.#end();
      throw error;
    }
  }

  /** Resolves to the next envelopes, once there are some; none at the end. */
  async #nextPage(): Promise<Envelope[]> {
    while (!this.#signal?.aborted) {
      const envelopes = await this.#next();
      if (envelopes.length > 0) return envelopes;
      if (this.#held.length > 0 || this.#behind) continue;
      if (this.#finished) break;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    return [];
  }

  #end(): IteratorReturnResult<void> {
    this.#isOver = true;
    this.#signal?.removeEventListener("abort", this.#stop);
    this.#held.takeAll();
    this.#behind = false;
    this.finish();
    this.#source.closed();
    return { done: true, value: undefined };
  }

  async #next(): Promise<Envelope[]> {
    if (!this.#behind) {
      // Drop what the last page already had. A batch that was being written when this began may lie before its cursor.
      const isNew = ({ gseq }: Envelope) => gseq > this.#cursor;
      return this.#held.takeAll().flatMap((batch) => isNew(batch[0]!) ? batch : batch.filter(isNew));
    }
    // From here on, hold offers again.
    this.#behind = false;
    const sessionId = this.#sessionId;
    const page = await this.#source.read({
      after: this.#cursor,
      limit: pageSize,
      sessionId,
    });
    // A page may end anywhere: only an empty one, or one that reaches the held events, has caught up.
    const last = page.at(-1)?.gseq ?? this.#cursor;
    const caughtUp = page.length === 0 || last >= (this.#held.peek()?.[0]?.gseq ?? Infinity);
    if (!caughtUp) this.#held.takeAll();
    this.#behind ||= !caughtUp;
    return page;
  }

  readonly #stop = (): void => this.#wakeUp();

  #wakeUp(): void {
    this.#wake?.();
    this.#wake = null;
  }
}

/** Narrows a gap to the events that the reader does not have yet. */
function beginningAt(from: number, { event, ...envelope }: Envelope): Envelope {
  return { ...envelope, event: event.type === "gap" ? { ...event, from_seq: Math.max(from, event.from_seq) } : event };
}
