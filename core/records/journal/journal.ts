import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { SessionHistory } from "../../../plugin-sdk/session-history.ts";
import type { LeftChild } from "./history-table.ts";
import type { KeyRecord } from "./key-table.ts";
import type { SpentPage, SpentRecord } from "./spend-table.ts";
import type { GroupPage } from "./session-groups.ts";
import type { DeletedBy, SessionFilter, SessionRecord, SessionSpan } from "./session-record.ts";

/** Position of a reader: after this `gseq`. 0 is before everything. */
export type Cursor = number;

/** A batch of one session's envelopes, in order. */
export interface JournalBatch {
  session_id: string;
  envelopes: Envelope[];
  /** Known JSON texts of events; in order, without overlaps. */
  texts?: readonly EventsText[] | undefined;
  /** Called with the milliseconds for which writing the batch kept this thread busy. */
  charge?: ((ms: number) => void) | undefined;
}

/** The JSON list, packed or not, from which the events of consecutive envelopes were parsed. */
export interface EventsText {
  /** Index of the first envelope. */
  at: number;
  count: number;
  text: string;
}

/** Options of {@link Journal.read}. */
export interface ReadOptions {
  after: Cursor;
  /** Only this session. */
  sessionId?: string | undefined;
  /** Most envelopes of a page; it may hold fewer. */
  limit?: number | undefined;
  /** Skips unreadable batches, instead of failing. */
  skipDamaged?: boolean | undefined;
}

/** The durable event log. Everything above reads and writes only through it. */
export interface Journal {
  /** Highest `gseq` ever appended, also before a restart, and when its event was removed. */
  readonly lastGseq: number;
  /** Whether an append waits for the disk, so that two of them cost noticeably more than one. */
  readonly waitsForDisk: boolean;
  /**
   * Appends, and resolves with the bytes of text written once they are durable. Calls made in the same turn share one
   * transaction. Appended envelopes are copied at once. When one cannot be written, those that wait behind it fail too.
   * Every `gseq` must be higher than all before it, in the batch and in the journal: a reader that has passed a cursor
   * does not look back.
   * @throws {BulkheadError} `journal_error`
   */
  append(batch: JournalBatch): Promise<number>;
  /**
   * The next envelopes in `gseq` order; an empty array means that there are none yet. For a deleted session, one `gap`
   * replaces its last event.
   * @throws {BulkheadError} `journal_error`
   */
  read(options: ReadOptions): Promise<Envelope[]>;
  /**
   * Sessions that have begun and have no `session_ended`, the oldest first. The journal keeps this list while writing,
   * so that a call costs the same at any length.
   * @throws {BulkheadError} `journal_error`
   */
  openSessions(): Promise<string[]>;
  /**
   * Sessions that match, the newest first.
   * @throws {BulkheadError} `journal_error`
   */
  sessions(filter: SessionFilter): Promise<SessionRecord[]>;
  /**
   * A part of the sessions with these words and times, grouped for counting: those after one in the order of lists.
   * @throws {BulkheadError} `journal_error`
   */
  groups(span: SessionSpan, before: SessionFilter["before"]): Promise<GroupPage>;
  /**
   * One session, or its tombstone; null for an unknown one.
   * @throws {BulkheadError} `journal_error`
   */
  session(sessionId: string): Promise<SessionRecord | null>;
  /**
   * Grants, attempts and programs of a session; all empty for an unknown or deleted one.
   * @throws {BulkheadError} `journal_error`
   */
  history(sessionId: string): Promise<SessionHistory>;
  /**
   * Usage of the sessions that have ended, a page of them; an empty page is the last.
   * @throws {BulkheadError} `journal_error`
   */
  spent(page: SpentPage): Promise<SpentRecord[]>;
  /**
   * Programs whose end was not recorded.
   * @throws {BulkheadError} `journal_error`
   */
  leftChildren(): Promise<LeftChild[]>;
  /**
   * A cursor before a session's envelopes beyond this `seq`, with at most one batch of its earlier envelopes in
   * between; null when there are none yet.
   * @throws {BulkheadError} `journal_error`
   */
  cursorOf(sessionId: string, seq: number): Promise<Cursor | null>;
  /**
   * Replaces a session that has ended with a tombstone, and erases its events within the next turns. False when
   * there is no such session, or it runs. `leftOpen`: the caller knows that no host runs it, so it need not have ended.
   * @throws {BulkheadError} `journal_error`
   */
  delete(sessionId: string, by: DeletedBy, terms?: { leftOpen?: boolean }): Promise<boolean>;
  /**
   * The record of an idempotency key; null for an unknown one. A key is removed with its session.
   * @throws {BulkheadError} `journal_error`
   */
  findKey(name: string): Promise<KeyRecord | null>;
  /**
   * Records a key before its session begins, and removes the oldest beyond a number; resolves once it is durable.
   * @throws {BulkheadError} `journal_error`
   */
  noteKey(record: KeyRecord, most: number): Promise<void>;
  /**
   * The session that ended first and was not deleted; null when there is none.
   * @throws {BulkheadError} `journal_error`
   */
  oldestEnded(): Promise<SessionRecord | null>;
  /**
   * Bytes of one session's events in the journal. Yields to other work before counting.
   * @throws {BulkheadError} `journal_error`
   */
  bytesOf(sessionId: string): Promise<number>;
  /**
   * Bytes in use, without deleted content.
   * @throws {BulkheadError} `journal_error`
   */
  usedBytes(): Promise<number>;
  /**
   * Resumes deletions that the end of a process cut short, and removes the oldest tombstones beyond their number.
   * @throws {BulkheadError} `journal_error`
   */
  sweep(): Promise<void>;
  /** Writes appended batches and closes. Later calls reject with `journal_error`. */
  close(): Promise<void>;
}
