import type { SqliteFile, SqlStatement } from "../runtime/sqlite.ts";
import type { JournalRow } from "./journal-row.ts";
import type { PageRow } from "./read-page.ts";

/** What a journal says to its database, prepared. */
export interface JournalStatements {
  begin: SqlStatement;
  insert: SqlStatement;
  advance: SqlStatement;
  commit: SqlStatement;
  rollback: SqlStatement;
  /** Notes that a session has begun, and that it has ended. */
  open: SqlStatement;
  close: SqlStatement;
  /** All sessions that have begun and not ended. */
  findOpen(): string[];
  /** The first row that ends after a cursor, of one session or of all. */
  findRow(after: number, sessionId: string | undefined): PageRow | undefined;
}

/** Prepares all statements of a journal. */
export function prepareStatements(database: SqliteFile): JournalStatements {
  const next = database.prepare("SELECT last_gseq, body FROM batch WHERE last_gseq > ? ORDER BY last_gseq LIMIT 1");
  const nextOpen = database.prepare(
    "SELECT session_id, first_gseq FROM open_session WHERE first_gseq > ? ORDER BY first_gseq LIMIT 1",
  );
  const nextOfSession = database.prepare(
    "SELECT last_gseq, body FROM batch WHERE session_id = ? AND last_gseq > ? ORDER BY last_gseq LIMIT 1",
  );
  return {
    begin: database.prepare("BEGIN IMMEDIATE"),
    insert: database.prepare("INSERT INTO batch VALUES (?, ?, ?, ?, ?, ?, ?)"),
    advance: database.prepare("UPDATE state SET last_gseq = ? WHERE last_gseq < ?"),
    commit: database.prepare("COMMIT"),
    rollback: database.prepare("ROLLBACK"),
    open: database.prepare("INSERT OR IGNORE INTO open_session VALUES (?, ?)"),
    close: database.prepare("DELETE FROM open_session WHERE session_id = ?"),
    findOpen() {
      const found: string[] = [];
      for (let after = 0;;) {
        const row = nextOpen.get(after) as { session_id: string; first_gseq: number } | undefined;
        if (row === undefined) return found;
        found.push(row.session_id);
        after = row.first_gseq;
      }
    },
    findRow(after, sessionId) {
      const row = sessionId === undefined ? next.get(after) : nextOfSession.get(sessionId, after);
      // The table is ours and STRICT.
      return row as PageRow | undefined;
    },
  };
}

/**
 * Writes rows, all or none, in one transaction.
 * @returns the last `gseq` written
 * @throws {Error} of SQLite, or when another process has written the numbers already
 */
export function writeRows(statements: JournalStatements, rows: readonly JournalRow[]): number {
  const { begin, insert, advance, commit, open, close } = statements;
  const first = rows[0]?.first_gseq ?? 0;
  const last = rows.at(-1)?.last_gseq ?? 0;
  begin.run();
  try {
    if (advance.run(last, first).changes !== 1) {
      throw new Error(`event ${first} does not come after what another process wrote`);
    }
    for (const { last_gseq, first_gseq, session_id, first_seq, last_seq, count, opens, closes, body } of rows) {
      if (opens && !closes) open.run(session_id, first_gseq);
      if (closes && !opens) close.run(session_id);
      insert.run(last_gseq, first_gseq, session_id, first_seq, last_seq, count, body);
    }
    commit.run();
    return last;
  } catch (error) {
    rollBack(statements);
    throw error;
  }
}

function rollBack({ rollback }: JournalStatements): void {
  try {
    rollback.run();
  } catch {
    // After some failures SQLite has rolled back by itself.
  }
}
