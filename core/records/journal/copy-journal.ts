import { openSqlite } from "../../ground/platform/state/sqlite.ts";
import { defaultJournalLimits } from "./journal-limits.ts";
import { journalError } from "./journal-error.ts";

/**
 * Copies the journal as it is at one moment into a new file, without its free pages; a host may write to it meanwhile. The
 * key is not copied.
 * @throws {BulkheadError} `journal_error`
 */
export async function copyJournal(file: string, copy: string): Promise<void> {
  try {
    const database = await openSqlite(file, { busyTimeoutMs: defaultJournalLimits.busy_timeout_ms });
    try {
      await database.execAside(`VACUUM INTO '${copy.replaceAll("'", "''")}'`);
    } finally {
      database.close();
    }
  } catch (error) {
    throw journalError(`Cannot copy the journal "${file}"`, error);
  }
}
