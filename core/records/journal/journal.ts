import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { SessionHistory } from "../../../plugin-sdk/session-history.ts";
import type { LeftChild } from "./history-table.ts";
import type { KeyRecord } from "./key-table.ts";
import type { DeletedBy, SessionFilter, SessionRecord } from "./session-record.ts";

/** Where a reader stands: after this `gseq`. 0 is before everything. */
export type Cursor = number;

/** A batch of one session's envelopes, in order. */
export interface JournalBatch {
  session_id: string;
  envelopes: Envelope[];
  /** Where the JSON of events is known; in order, and none overlaps another. */
  texts?: readonly EventsText[];
  /** Takes the milliseconds for which writing it kept this thread busy. */
  charge?: ((ms: number) => void) | undefined;
}

/**
 * The JSON list from which the events of consecutive envelopes were parsed, which differ in their events and in their
 * numbers alone.
 */
export interface EventsText {
  /** Index of the first envelope. */
  at: number;
  count: number;
  text: string;
}

/** What a page of the journal is asked by. */
export interface ReadOptions {
  after: Cursor;
  /** Only this session. */
  sessionId?: string;
  /** Envelopes at most; the page may hold fewer. */
  limit?: number;
  /** Pass over batches that cannot be read, in place of failing. */
  skipDamaged?: boolean;
}

/** The durable event log. Everything above reads and writes through this alone. */
export interface Journal {
  /** Highest `gseq` that was ever appended, also before a restart, and when its event is no longer held. */
  readonly lastGseq: number;
  /**
   * Appends and resolves once it is durable, with the bytes of text that it took. Calls made in the same turn share one
   * transaction. Appended envelopes are copied at once. Where one cannot be written, those that wait behind it are not either. Every `gseq` must be higher than all before it, in the batch and in the journal: a reader
   * that has passed a cursor does not look back.
   * @throws {BulkheadError} `journal_error`
   */
  append(batch: JournalBatch): Promise<number>;
  /**
   * The next envelopes in `gseq` order; an empty array means there are none yet. Where a session was deleted, one
   * `gap` stands in place of its last event.
   * @throws {BulkheadError} `journal_error`
   */
  read(options: ReadOptions): Promise<Envelope[]>;
  /**
   * Sessions that have begun and have no `session_ended`, the oldest first. A journal counts them as it is written, so
   * that asking costs nothing however long it is.
   * @throws {BulkheadError} `journal_error`
   */
  openSessions(): Promise<string[]>;
  /**
   * Sessions that fit, the newest first.
   * @throws {BulkheadError} `journal_error`
   */
  sessions(filter: SessionFilter): Promise<SessionRecord[]>;
  /**
   * One session, or its tombstone; null for one that was never here.
   * @throws {BulkheadError} `journal_error`
   */
  session(sessionId: string): Promise<SessionRecord | null>;
  /**
   * What a session was granted, its attempts, and the programs that were started for it; all empty for one that is not
   * known or was deleted.
   * @throws {BulkheadError} `journal_error`
   */
  history(sessionId: string): Promise<SessionHistory>;
  /**
   * Programs that were started and have not been seen to end.
   * @throws {BulkheadError} `journal_error`
   */
  leftChildren(): Promise<LeftChild[]>;
  /**
   * A cursor after which a session's envelopes beyond this `seq` lie, with no more than one batch of others of it;
   * null when there are none yet.
   * @throws {BulkheadError} `journal_error`
   */
  cursorOf(sessionId: string, seq: number): Promise<Cursor | null>;
  /**
   * Leaves a tombstone in place of a session that has ended; its events go within the next turns. False when there is
   * no such session, or it runs. `leftOpen`: the caller knows that nobody runs it, so that it need not have ended.
   * @throws {BulkheadError} `journal_error`
   */
  delete(sessionId: string, by: DeletedBy, terms?: { leftOpen?: boolean }): Promise<boolean>;
  /**
   * What an idempotency key stands for; null for one that is not known. A key goes with its session.
   * @throws {BulkheadError} `journal_error`
   */
  findKey(name: string): Promise<KeyRecord | null>;
  /**
   * Writes a key down before its session begins, and forgets the oldest beyond a number; resolves once it is durable.
   * @throws {BulkheadError} `journal_error`
   */
  noteKey(record: KeyRecord, most: number): Promise<void>;
  /**
   * The session that ended first, of those that were not deleted; null when there is none.
   * @throws {BulkheadError} `journal_error`
   */
  oldestEnded(): Promise<SessionRecord | null>;
  /**
   * Bytes of one session's events as the journal keeps them. Others have their turn before it is counted.
   * @throws {BulkheadError} `journal_error`
   */
  bytesOf(sessionId: string): Promise<number>;
  /**
   * Bytes that are in use; what was deleted does not count.
   * @throws {BulkheadError} `journal_error`
   */
  usedBytes(): Promise<number>;
  /**
   * Goes on with deletions that the end of a process cut short, and forgets the oldest tombstones beyond their number.
   * @throws {BulkheadError} `journal_error`
   */
  sweep(): Promise<void>;
  /** Writes what was appended and closes. What is called afterwards rejects with `journal_error`. */
  close(): Promise<void>;
}
