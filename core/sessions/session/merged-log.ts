import type { Envelope, HostEvent } from "../../../plugin-sdk/envelope.ts";
import type { AdapterEvent } from "../../../plugin-sdk/events.ts";
import type { Cursor, EventsText, Journal } from "../../records/journal/journal.ts";
import { startBackgroundTimer } from "../../ground/runtime/background-timer.ts";
import { onNextTurn } from "../../ground/runtime/next-turn.ts";
import { Subscription, type SubscriptionOptions } from "./subscription.ts";

/** What the envelopes of one session have in common. `lastSeq` is moved on by the log. */
export interface Stream {
  readonly sessionId: string;
  adapter: { id: string; version: string };
  attempt: number;
  lastSeq: number;
  /** Takes the milliseconds that writing its events cost the host. */
  charge?: (ms: number) => void;
}

/** One event on its way into the log. */
export interface LogEntry {
  source: "agent" | "host";
  synthetic?: true;
  event: AdapterEvent | HostEvent;
}

/** What is known of events as they came. */
export interface Received {
  /** Bytes that all of them came in. */
  bytes: number;
  /** The JSON list that they were parsed from: to write it costs less than to write them out again. */
  text?: string | undefined;
}

/** What the log needs of a journal. */
export type LogJournal = Pick<Journal, "lastGseq" | "append" | "read">;

interface Pending {
  stream: Stream;
  /** Of what came with its size. */
  bytes: number;
  session_id: string;
  envelopes: Envelope[];
  texts: EventsText[];
  written: Promise<void>;
  done(): void;
  failed(error: unknown): void;
}

/**
 * The one ordered log: numbers every session's events, appends them durably, and only then hands them to subscribers.
 * All that arrives in one turn of the event loop becomes one transaction; what only opens sessions waits a moment for
 * what follows, because a transaction costs as much as all else that the host does for a short session.
 */
export class MergedLog {
  readonly #journal: LogJournal;
  readonly #watch: (stream: Stream, event: HostEvent) => void;
  readonly #subscriptions = new Set<Subscription>();
  #gseq: number;
  #pending: Pending[] = [];
  #flushing: Promise<void> | null = null;
  /** Streams whose beginning could not be written: nothing more of them is. */
  readonly #lost = new WeakMap<Stream, unknown>();
  /** Settles with what was added last. */
  #newest: Promise<unknown> = Promise.resolve();
  /** Something is pending that may not wait. */
  #urgent = false;
  #endLull: (() => void) | null = null;

  /** @param watch sees each event of the host as it goes in; those of agents are too many to be seen one by one */
  constructor(journal: LogJournal, watch: (stream: Stream, event: HostEvent) => void = () => {}) {
    this.#journal = journal;
    this.#watch = watch;
    this.#gseq = journal.lastGseq;
  }

  /**
   * Adds events of one session; resolves when they are durable and have been handed on.
   */
  add(stream: Stream, entries: readonly LogEntry[], { bytes, text }: Received = { bytes: 0 }): Promise<void> {
    if (entries.length === 0) return Promise.resolve();
    if (this.#lost.has(stream)) return Promise.reject(this.#lost.get(stream));
    const ts = new Date().toISOString();
    const { sessionId: session_id, attempt, adapter } = stream;
    const pending = this.#pendingOf(stream);
    const { envelopes, texts, written } = pending;
    pending.bytes += bytes;
    if (!entries.every(isOpening)) this.#hurry();
    if (text !== undefined) texts.push({ at: envelopes.length, count: entries.length, text });
    for (const { source, synthetic, event } of entries) {
      const seq = ++stream.lastSeq;
      const gseq = ++this.#gseq;
      if (source === "host") this.#watch(stream, event as HostEvent);
      envelopes.push(
        synthetic
          ? { v: 1, seq, gseq, ts, session_id, attempt, adapter, source, synthetic, event }
          : { v: 1, seq, gseq, ts, session_id, attempt, adapter, source, event },
      );
    }
    return written;
  }

  /** What one session adds in one turn, with nothing of another between, is one batch: a batch costs more than an event. */
  #pendingOf(stream: Stream): Pending {
    const last = this.#pending.at(-1);
    if (last?.stream === stream && last.bytes < batchBytes) return last;
    let done!: () => void;
    let failed!: (error: unknown) => void;
    const written = new Promise<void>((resolve, reject) => {
      done = resolve;
      failed = reject;
    });
    const { sessionId: session_id } = stream;
    const pending: Pending = { stream, bytes: 0, session_id, envelopes: [], texts: [], written, done, failed };
    this.#pending.push(pending);
    this.#newest = written.catch(() => {});
    this.#flushing ??= this.#flush();
    return pending;
  }

  /** Number of the last event that was added. */
  get newest(): Cursor {
    return this.#gseq;
  }

  /** Events after a cursor, then live ones. Default: from now on. */
  subscribe(options: SubscriptionOptions = {}): Subscription {
    const after: Cursor = options.after ?? this.#gseq;
    const subscription = new Subscription({ ...options, after, isLive: after >= this.#gseq }, {
      read: (page) => this.#journal.read(page),
      closed: () => this.#subscriptions.delete(subscription),
    });
    this.#subscriptions.add(subscription);
    return subscription;
  }

  /** Resolves when all that has been added by now is durable, or has failed to become so. */
  async written(): Promise<void> {
    if (this.#flushing === null) return;
    this.#hurry();
    await this.#newest;
  }

  /** Resolves when all that was added is durable. */
  async settled(): Promise<void> {
    this.#hurry();
    while (this.#flushing) await this.#flushing;
  }

  /** Ends all subscriptions, after what they still hold. */
  close(): void {
    for (const subscription of this.#subscriptions) subscription.finish();
  }

  async #flush(): Promise<void> {
    while (this.#pending.length > 0) {
      await new Promise<void>(onNextTurn);
      if (!this.#urgent) await this.#lull();
      const batch = this.#pending;
      this.#pending = [];
      this.#urgent = false;
      const written = await Promise.allSettled(
        batch.map(({ stream, session_id, envelopes, texts }) =>
          this.#journal.append({ session_id, envelopes, texts, charge: stream.charge })
        ),
      );
      for (const [at, { envelopes, done }] of batch.entries()) {
        const outcome = written[at]!;
        if (outcome.status === "rejected") continue;
        for (const subscription of this.#subscriptions) subscription.offer(envelopes, outcome.value);
        done();
      }
      const failures = written.flatMap((outcome, at) =>
        outcome.status === "rejected" ? [[batch[at]!, outcome.reason] as const] : []
      );
      if (failures.length > 0) this.#fail(failures);
    }
    this.#flushing = null;
  }

  /** What was not written has no numbers: what comes after it in its session takes them, so that there is no hole. */
  #fail(failures: readonly (readonly [Pending, unknown])[]): void {
    const cut = new Set<Stream>();
    for (const [{ stream, envelopes, failed }, error] of failures) {
      failed(error);
      if (cut.has(stream)) continue;
      cut.add(stream);
      stream.lastSeq = envelopes[0]!.seq - 1;
      if (stream.lastSeq === 0) this.#lost.set(stream, error);
    }
    this.#pending = this.#pending.filter(({ stream, envelopes, failed }) => {
      if (this.#lost.has(stream)) return void failed(this.#lost.get(stream));
      for (const envelope of cut.has(stream) ? envelopes : []) envelope.seq = ++stream.lastSeq;
      return true;
    });
  }

  #hurry(): void {
    this.#urgent = true;
    this.#endLull?.();
  }

  /** A moment, which ends early, with the turn, when something comes that may not wait. */
  #lull(): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        this.#endLull = null;
        resolve();
      };
      const cancel = startBackgroundTimer(end, openingMs);
      this.#endLull = () => {
        cancel();
        onNextTurn(end);
      };
    });
  }
}

/** A batch takes no more when it has this many bytes: readers get it as a whole, from the journal too. */
const batchBytes = 512 * 1024;

/** How long the opening of a session may wait to be written. Milliseconds. */
const openingMs = 2;

/** What says only that a session begins; whatever it does makes another event. */
function isOpening({ event }: LogEntry): boolean {
  return event.type === "session_started" || event.type === "attempt_started";
}
