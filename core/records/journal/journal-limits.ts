/** Limits of one journal. */
export interface JournalLimits {
  /** Bytes of text written in one transaction, after which the event loop has its turn. */
  commit_bytes: number;
  /** Envelopes of one page, where the reader names no number. */
  page_events: number;
  /** Bytes of text after which a page ends. */
  page_bytes: number;
  /** Bytes of text after which the write-ahead log is moved into the database file. */
  checkpoint_bytes: number;
  /** Time after which it is moved however little it holds. What a power loss can cost is what came after. */
  checkpoint_interval_ms: number;
  /** How long to wait for another process that holds the file. */
  busy_timeout_ms: number;
  /** How long appends wait for room, from when the disk was first full. */
  room_wait_ms: number;
  /** Tombstones that are kept; beyond them the oldest are forgotten, and their sessions were never here. */
  tombstones: number;
  /** Bytes of a database file up to which all of it is checked after its host was killed. */
  check_bytes: number;
  /** Bytes of text that a journal in memory holds; beyond them the oldest batches are dropped. */
  memory_bytes: number;
}

/** Defaults for every limit of a journal. */
export const defaultJournalLimits: JournalLimits = {
  commit_bytes: 512 * 1024,
  page_events: 1024,
  page_bytes: 512 * 1024,
  checkpoint_bytes: 16 * 1024 * 1024,
  checkpoint_interval_ms: 1000,
  busy_timeout_ms: 2000,
  room_wait_ms: 6000,
  tombstones: 100_000,
  check_bytes: 256 * 1024 * 1024,
  memory_bytes: 256 * 1024 * 1024,
};
