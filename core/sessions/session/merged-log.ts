import type { Envelope, HostEvent } from "../../../plugin-sdk/envelope.ts";
import type { AdapterEvent } from "../../../plugin-sdk/events.ts";
import type { Cursor, EventsText, Journal } from "../../records/journal/journal.ts";
import { startBackgroundTimer } from "../../ground/platform/engine/background-timer.ts";
import { nextTurn, onNextTurn } from "../../ground/platform/engine/next-turn.ts";
import { within } from "../../ground/platform/engine/within.ts";
import { Subscription, type SubscriptionOptions } from "./subscription.ts";

/** The common part of one session's envelopes. The log advances `lastSeq`. */
export interface Stream {
  readonly sessionId: string;
  adapter: { id: string; version: string };
  attempt: number;
  lastSeq: number;
  /** Receives the milliseconds that writing its events cost the host. */
  charge?: (ms: number) => void;
}

/** One event for the log. */
export interface LogEntry {
  source: "agent" | "host";
  synthetic?: true;
  event: AdapterEvent | HostEvent;
}

/** Facts about events as they were received. */
export interface Received {
  /** Size of all of them as received, in bytes. */
  bytes: number;
  /** The JSON list that they were parsed from: writing it costs less than serialising them again. */
  text?: string | undefined;
  /** They were added before and could not be written: no reader gets them again. */
  isSeen?: boolean;
}

/** The parts of a journal that the log uses. */
export type LogJournal = Pick<Journal, "lastGseq" | "append" | "read">;

interface Pending {
  stream: Stream;
  /** Size of the received events, in bytes. */
  bytes: number;
  session_id: string;
  envelopes: Envelope[];
  texts: EventsText[];
  written: Promise<void>;
  done(): void;
  failed(error: unknown): void;
}

/** Events that are durable, and the size of their text in bytes. */
interface Written {
  envelopes: readonly Envelope[];
  bytes: number;
}

/**
 * The one ordered log: numbers every session's events, appends them durably, and only then delivers them to
 * subscribers. All events of one turn of the event loop become one transaction. Events that only open a session wait a
 * moment for later ones, because a transaction costs as much as the rest of the host's work for a short session.
 */
export class MergedLog {
  readonly #journal: LogJournal;
  readonly #watch: (stream: Stream, event: HostEvent) => void;
  /** By the session that they are about; those to all sessions under null. */
  readonly #subscriptions = new Map<string | null, Set<Subscription>>();
  #gseq: number;
  #pending: Pending[] = [];
  #flushing: Promise<void> | null = null;
  /** Streams whose first events could not be written: none of their later events are written. */
  readonly #lost = new WeakMap<Stream, unknown>();
  /** Settles with the latest addition. */
  #newest: Promise<unknown> = Promise.resolve();
  /** True when a pending event must not wait. */
  #urgent = false;
  #endLull: (() => void) | null = null;

  /** @param watch sees each event of the host as it goes in; agents' events are too many to watch each one */
  constructor(journal: LogJournal, watch: (stream: Stream, event: HostEvent) => void = () => {}) {
    this.#journal = journal;
    this.#watch = watch;
    this.#gseq = journal.lastGseq;
  }

  /** Adds events of one session; resolves when they are durable and delivered. */
  add(stream: Stream, entries: readonly LogEntry[], received: Received = { bytes: 0 }): Promise<void> {
    const { bytes, text, isSeen = false } = received;
    if (entries.length === 0) return Promise.resolve();
    if (this.#lost.has(stream)) return Promise.reject(this.#lost.get(stream));
    const ts = new Date().toISOString();
    const { sessionId: session_id, attempt, adapter } = stream;
    const pending = this.#pendingOf(stream);
    const { envelopes, texts, written } = pending;
    pending.bytes += bytes;
    let isOpening = true;
    if (text !== undefined) texts.push({ at: envelopes.length, count: entries.length, text });
    for (const { source, synthetic, event } of entries) {
      const seq = ++stream.lastSeq;
      const gseq = ++this.#gseq;
      if (source === "host" && !isSeen) this.#watch(stream, event as HostEvent);
      isOpening &&= opensSession(event);
      envelopes.push(
        synthetic
          ? { v: 1, seq, gseq, ts, session_id, attempt, adapter, source, synthetic, event }
          : { v: 1, seq, gseq, ts, session_id, attempt, adapter, source, event },
      );
    }
    if (!isOpening) this.#hurry();
    return written;
  }

  /** Returns the batch for a session's events, one a turn unless another session comes between. */
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

  /** Returns the number of the last event that was added. */
  get newest(): Cursor {
    return this.#gseq;
  }

  /** Streams the events after a cursor, then live ones. Default: from now on. */
  subscribe(options: SubscriptionOptions = {}): Subscription {
    const after: Cursor = options.after ?? this.#gseq;
    const about = options.sessionId ?? null;
    const others = this.#subscriptions.get(about) ?? new Set();
    const subscription = new Subscription({ ...options, after, isLive: after >= this.#gseq }, {
      read: (page) => this.#journal.read(page),
      closed: () => {
        others.delete(subscription);
        if (others.size === 0 && this.#subscriptions.get(about) === others) this.#subscriptions.delete(about);
      },
    });
    this.#subscriptions.set(about, others.add(subscription));
    return subscription;
  }

  /** Resolves when everything added until now is durable, or has failed to become so; or after a time, if one is given. */
  async written({ atMostMs }: { atMostMs?: number } = {}): Promise<void> {
    if (this.#flushing === null) return;
    this.#hurry();
    await (atMostMs === undefined ? this.#newest : within(this.#newest, atMostMs));
  }

  /** Resolves when everything added is durable. */
  async settled(): Promise<void> {
    this.#hurry();
    while (this.#flushing) await this.#flushing;
  }

  /** Ends all subscriptions, after the events that they still hold. */
  close(): void {
    for (const subscriptions of this.#subscriptions.values()) {
      for (const subscription of subscriptions) subscription.finish();
    }
  }

  async #flush(): Promise<void> {
    while (this.#pending.length > 0) {
      await nextTurn();
      if (!this.#urgent) await this.#lull();
      const batch = this.#pending;
      this.#pending = [];
      this.#urgent = false;
      const written = await Promise.allSettled(
        batch.map(({ stream, session_id, envelopes, texts }) =>
          this.#journal.append({ session_id, envelopes, texts, charge: stream.charge })
        ),
      );
      this.#deliver(batch.flatMap(({ envelopes }, at) => {
        const outcome = written[at]!;
        return outcome.status === "fulfilled" ? [{ envelopes, bytes: outcome.value }] : [];
      }));
      for (const [at, { done }] of batch.entries()) if (written[at]!.status === "fulfilled") done();
      const failures = written.flatMap((outcome, at) =>
        outcome.status === "rejected" ? [[batch[at]!, outcome.reason] as const] : []
      );
      if (failures.length > 0) this.#fail(failures);
    }
    this.#flushing = null;
  }

  /** Offers subscriptions to one session their own batches, and those to all sessions joined ones. */
  #deliver(written: readonly Written[]): void {
    for (const one of written) offer(this.#subscriptions.get(one.envelopes[0]!.session_id), one);
    const toAll = this.#subscriptions.get(null);
    for (const one of toAll === undefined ? [] : joined(written)) offer(toAll, one);
  }

  /**
   * Fails the additions. The session's later events take the numbers of the unwritten ones, so that there is no gap.
   */
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

  /** Waits a moment; ends early, with the turn, when an event arrives that must not wait. */
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

function offer(readers: Iterable<Subscription> = [], { envelopes, bytes }: Written): void {
  const batch = { envelopes, isShared: true };
  for (const reader of readers) reader.offer(batch, bytes);
}

/** Largest size of a batch, in bytes, before another one starts: readers get it as a whole, from the journal too. */
const batchBytes = 512 * 1024;

/** Joins batches in order, as long as they stay small. */
function joined(batches: readonly Written[]): Written[] {
  const groups: { all: Written[]; bytes: number }[] = [];
  for (const one of batches) {
    const last = groups.at(-1);
    if (last === undefined || last.bytes + one.bytes > batchBytes) groups.push({ all: [one], bytes: one.bytes });
    else {
      last.all.push(one);
      last.bytes += one.bytes;
    }
  }
  return groups.map(({ all, bytes }) =>
    all.length === 1 ? all[0]! : { envelopes: all.flatMap((one) => one.envelopes), bytes }
  );
}

/** Longest wait before the opening of a session is written. Milliseconds. */
const openingMs = 2;

/** Returns true for an event that only opens a session; its work makes other events. */
function opensSession(event: LogEntry["event"]): boolean {
  return event.type === "session_started" || event.type === "attempt_started";
}
