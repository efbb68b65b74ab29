import type { Envelope } from "../../plugin-sdk/envelope.ts";
import type { Cursor, ReadOptions } from "../journal/journal.ts";

/** What a subscriber wants to see. */
export interface SubscriptionOptions {
  after?: Cursor;
  /** Only this session; the subscription then ends with it. */
  sessionId?: string;
  signal?: AbortSignal;
  /** Envelopes held for a slow reader; beyond them it is served from the journal. Default 4096. */
  held?: number;
}

interface Source {
  read(options: ReadOptions): Promise<Envelope[]>;
  closed(): void;
}

const pageSize = 1000;

/**
 * One reader of the merged log. It never holds more than a bounded number of envelopes: a reader that is slower than
 * the sessions is caught up from the journal, and loses nothing.
 */
export class Subscription implements AsyncIterable<Envelope> {
  readonly #source: Source;
  readonly #sessionId: string | undefined;
  readonly #limit: number;
  readonly #signal: AbortSignal | undefined;
  #cursor: Cursor;
  #held: Envelope[] = [];
  /** Something was thrown away: the journal must be read up to the next held envelope. */
  #behind: boolean;
  #finished = false;
  #wake: (() => void) | null = null;

  constructor(options: SubscriptionOptions & { after: Cursor }, source: Source) {
    this.#source = source;
    this.#sessionId = options.sessionId;
    this.#limit = options.held ?? 4096;
    this.#signal = options.signal;
    this.#cursor = options.after;
    this.#behind = true;
    options.signal?.addEventListener("abort", this.#stop, { once: true });
  }

  /** Takes envelopes that have just become durable. */
  offer(envelopes: readonly Envelope[]): void {
    const wanted = this.#sessionId === undefined || envelopes[0]?.session_id === this.#sessionId;
    if (!wanted || this.#finished) return;
    if (this.#held.length + envelopes.length > this.#limit) {
      this.#held = [];
      this.#behind = true;
    } else if (!this.#behind) {
      this.#held.push(...envelopes);
    }
    this.#wakeUp();
  }

  /** All it could be offered is in the journal: it holds nothing more, and is read from there if it is read at all. */
  settle(): void {
    this.#held = [];
    this.#behind = true;
    this.finish();
    this.#source.closed();
  }

  /** Nothing more will be offered. */
  finish(): void {
    this.#finished = true;
    this.#wakeUp();
  }

  /** Reads from the cursor on. Leaving the loop ends the subscription. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Envelope, void, void> {
    try {
      for (;;) {
        if (this.#signal?.aborted) return;
        const batch = await this.#next();
        for (const envelope of batch) {
          this.#cursor = envelope.gseq;
          yield envelope;
          if (this.#sessionId !== undefined && envelope.event.type === "session_ended") return;
        }
        if (batch.length > 0) continue;
        if (this.#held.length > 0 || this.#behind) continue;
        if (this.#finished) return;
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.#signal?.removeEventListener("abort", this.#stop);
      this.#finished = true;
      this.#held = [];
      this.#source.closed();
    }
  }

  async #next(): Promise<Envelope[]> {
    if (!this.#behind) {
      const held = this.#held;
      this.#held = [];
      return held;
    }
    // From here on offers are held again; what the page and the offers both have is dropped below.
    this.#behind = false;
    const sessionId = this.#sessionId;
    const page = await this.#source.read({
      after: this.#cursor,
      limit: pageSize,
      ...(sessionId === undefined ? {} : { sessionId }),
    });
    const last = page.at(-1)?.gseq ?? this.#cursor;
    if (page.length >= pageSize) {
      this.#held = [];
      this.#behind = true;
    } else {
      this.#held = this.#held.filter(({ gseq }) => gseq > last);
    }
    return page;
  }

  readonly #stop = (): void => this.#wakeUp();

  #wakeUp(): void {
    this.#wake?.();
    this.#wake = null;
  }
}
