import { stat } from "../../ground/platform/files/files.ts";
import { openSqlite } from "../../ground/platform/state/sqlite.ts";
import { damageIn } from "./damage.ts";
import { journalError } from "./journal-error.ts";
import { defaultJournalLimits } from "./journal-limits.ts";
import { applyRetention, type RetentionLimits } from "./retention.ts";
import { openJournal } from "./open-journal.ts";
import { markSuspect } from "./check-journal.ts";

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
  try {
    await giveBack(file).catch(async (error: unknown) => {
      const problem = damageIn(error);
      if (problem === null || onProblem === undefined) throw error;
      await markSuspect(file, problem);
      await (await openJournal(file, { onProblem })).close();
      await giveBack(file);
    });
  } catch (error) {
    throw journalError(`Cannot compact the journal "${file}"`, error);
  }
  return { removed_sessions, bytes_before, bytes_after: await bytesOf(file) };
}

async function giveBack(file: string): Promise<void> {
  const database = await openSqlite(file, { busyTimeoutMs: defaultJournalLimits.busy_timeout_ms });
  try {
    await database.execAside("VACUUM");
    await database.execAside("PRAGMA wal_checkpoint(TRUNCATE)");
  } finally {
    database.close();
  }
}

async function bytesOf(file: string): Promise<number> {
  const sizes = [file, `${file}-wal`].map((path) => stat(path).then(({ size }) => size, () => 0));
  return (await Promise.all(sizes)).reduce((all, size) => all + size, 0);
}
