import { stat } from "../../ground/runtime/files.ts";
import { openSqlite } from "../../ground/runtime/sqlite.ts";
import { journalError } from "./journal-error.ts";
import { defaultJournalLimits } from "./journal-limits.ts";
import { applyRetention, type RetentionLimits } from "./retention.ts";
import { openJournal } from "./sqlite-journal.ts";

/** Result of {@link compactJournal}. */
export interface CompactReport {
  /** Sessions that were past their age or size. */
  removed_sessions: number;
  /** Bytes of the file and its log. */
  bytes_before: number;
  bytes_after: number;
}

/**
 * Removes sessions past their age or size, and returns the space of everything deleted to the disk. No other process
 * may have the journal open.
 * @throws {BulkheadError} `journal_error`
 */
export async function compactJournal(
  file: string,
  { limits, onProblem }: { limits: RetentionLimits; onProblem?(message: string): void },
): Promise<CompactReport> {
  const bytes_before = await bytesOf(file);
  const journal = await openJournal(file, onProblem === undefined ? {} : { onProblem });
  let removed_sessions: number;
  try {
    removed_sessions = await applyRetention(journal, { limits });
  } finally {
    await journal.close();
  }
  const database = await openSqlite(file, { busyTimeoutMs: defaultJournalLimits.busy_timeout_ms });
  try {
    await database.execAside("VACUUM");
    await database.execAside("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch (error) {
    throw journalError(`Cannot compact the journal "${file}"`, error);
  } finally {
    database.close();
  }
  return { removed_sessions, bytes_before, bytes_after: await bytesOf(file) };
}

async function bytesOf(file: string): Promise<number> {
  const sizes = [file, `${file}-wal`].map((path) => stat(path).then(({ size }) => size, () => 0));
  return (await Promise.all(sizes)).reduce((all, size) => all + size, 0);
}
