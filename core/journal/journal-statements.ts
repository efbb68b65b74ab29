import type { SqliteFile, SqlStatement } from "../runtime/sqlite.ts";
import type { JournalRow } from "./journal-row.ts";
import type { PageRow } from "./read-page.ts";
import { prepareSessionTable, type SessionTable } from "./session-table.ts";

/** What a journal says to its database, prepared. */
export interface JournalStatements {
  begin: SqlStatement;
  insert: SqlStatement;
  advance: SqlStatement;
  commit: SqlStatement;
  rollback: SqlStatement;
  /** Erases up to a number of a session's rows. */
  erase: SqlStatement;
  sessions: SessionTable;
  /** The first row that ends after a cursor, of one session or of all. */
  findRow(after: number, sessionId: string | undefined): PageRow | undefined;
  /** The `gseq` before a session's first row that ends after a `seq`. */
  findCursor(sessionId: string, seq: number): number | null;
}

/** Prepares all statements of a journal. */
export function prepareStatements(database: SqliteFile): JournalStatements {
  const next = database.prepare("SELECT last_gseq, body FROM batch WHERE last_gseq > ? ORDER BY last_gseq LIMIT 1");
  const nextOfSession = database.prepare(
    "SELECT last_gseq, body FROM batch WHERE session_id = ? AND last_gseq > ? ORDER BY last_gseq LIMIT 1",
  );
  const nextBySeq = database.prepare(
    "SELECT first_gseq FROM batch WHERE session_id = ? AND last_seq > ? ORDER BY last_gseq LIMIT 1",
  );
  return {
    begin: database.prepare("BEGIN IMMEDIATE"),
    insert: database.prepare("INSERT INTO batch VALUES (?, ?, ?, ?, ?, ?, ?)"),
    advance: database.prepare("UPDATE state SET last_gseq = ? WHERE last_gseq < ?"),
    commit: database.prepare("COMMIT"),
    rollback: database.prepare("ROLLBACK"),
    erase: database.prepare(
      `DELETE FROM batch WHERE last_gseq IN
        (SELECT last_gseq FROM batch WHERE session_id = ? ORDER BY last_gseq LIMIT ?)`,
    ),
    sessions: prepareSessionTable(database),
    findRow(after, sessionId) {
      const row = sessionId === undefined ? next.get(after) : nextOfSession.get(sessionId, after);
      // The table is ours and STRICT.
      return row as PageRow | undefined;
    },
    findCursor(sessionId, seq) {
      const row = nextBySeq.get(sessionId, seq) as { first_gseq: number } | undefined;
      return row === undefined ? null : row.first_gseq - 1;
    },
  };
}

/**
 * Writes rows, all or none, in one transaction.
 * @returns the last `gseq` written
 * @throws {Error} of SQLite, or when another process has written the numbers already
 */
export function writeRows(statements: JournalStatements, rows: readonly JournalRow[]): number {
  const { insert, advance, sessions } = statements;
  const first = rows[0]?.first_gseq ?? 0;
  const last = rows.at(-1)?.last_gseq ?? 0;
  inTransaction(statements, () => {
    if (advance.run(last, first).changes !== 1) {
      throw new Error(`event ${first} does not come after what another process wrote`);
    }
    for (const row of rows) {
      const { last_gseq, first_gseq, session_id, first_seq, last_seq, count, body } = row;
      sessions.note(row);
      insert.run(last_gseq, first_gseq, session_id, first_seq, last_seq, count, body);
    }
  });
  return last;
}

/** Does all of something or nothing. */
export function inTransaction<T>(statements: JournalStatements, act: () => T): T {
  statements.begin.run();
  try {
    const value = act();
    statements.commit.run();
    return value;
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
