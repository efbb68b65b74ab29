import type { SqliteFile, SqlStatement } from "../../ground/platform/state/sqlite.ts";
import { type ChainPlace, linkOfRow, nextPlace } from "./chain.ts";
import { type ChainTable, prepareChainTable } from "./chain-table.ts";
import { asBytes, strictText, undamaged } from "./damage.ts";
import { type HistoryTable, prepareHistoryTable } from "./history-table.ts";
import { prepareSpendTable, type SpendTable } from "./spend-table.ts";
import type { JournalRow } from "./journal-row.ts";
import { type KeyTable, prepareKeyTable } from "./key-table.ts";
import type { PageRow, TombstoneRange } from "./read-page.ts";
import { prepareSessionTable, type SessionTable } from "./session-table.ts";
import type { LostRange } from "./gap.ts";

/** Prepared statements of a journal. */
export interface JournalStatements {
  begin: SqlStatement;
  insert: SqlStatement;
  /** Advances the highest number and the chain's head; changes nothing where another process has advanced them. */
  advance: SqlStatement;
  commit: SqlStatement;
  rollback: SqlStatement;
  sessions: SessionTable;
  chain: ChainTable;
  keys: KeyTable;
  history: HistoryTable;
  spend: SpendTable;
  lost: LostTable;
  /** The first row that ends after a cursor, of one session or of all. */
  findRow(after: number, sessionId: string | undefined): PageRow | undefined;
  /** Bytes of a session's rows, without reading their bodies. */
  bytesOf(sessionId: string): number;
  /** The `gseq` before a session's first row that ends after a `seq`. */
  findCursor(sessionId: string, seq: number): number | null;
}

/** Prepares all statements of a journal. */
export function prepareStatements(database: SqliteFile): JournalStatements {
  const columns = `last_gseq, ${asBytes("body")}`;
  const next = database.prepareBytes(`SELECT ${columns} FROM batch WHERE last_gseq > ? ORDER BY last_gseq LIMIT 1`);
  const nextOfSession = database.prepareBytes(
    `SELECT ${columns} FROM batch WHERE session_id = ? AND last_gseq > ? ORDER BY last_gseq LIMIT 1`,
  );
  const nextBySeq = database.prepare(
    "SELECT first_gseq FROM batch WHERE session_id = ? AND last_seq > ? ORDER BY last_gseq LIMIT 1",
  );
  const bytes = database.prepare(
    "SELECT coalesce(sum(octet_length(body)), 0) AS bytes FROM batch WHERE session_id = ?",
  );
  return {
    begin: database.prepare("BEGIN IMMEDIATE"),
    insert: database.prepare("INSERT INTO batch VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"),
    advance: database.prepare(
      `UPDATE state SET last_gseq = ?, head_number = ?, head_mac = ? WHERE last_gseq < ? AND head_number = ?`,
    ),
    commit: database.prepare("COMMIT"),
    rollback: database.prepare("ROLLBACK"),
    sessions: prepareSessionTable(database),
    chain: prepareChainTable(database),
    keys: prepareKeyTable(database),
    history: prepareHistoryTable(database),
    spend: prepareSpendTable(database),
    lost: prepareLostTable(database),
    findRow(after, sessionId) {
      const row = sessionId === undefined ? next.get(after) : nextOfSession.get(sessionId, after);
      if (row === undefined) return undefined;
      // The table is ours and STRICT.
      const { last_gseq, body } = row as PageRow;
      return { last_gseq, body: undamaged("a batch of events", () => strictText(body)) };
    },
    bytesOf: (sessionId) => (bytes.get(sessionId) as { bytes: number }).bytes,
    findCursor(sessionId, seq) {
      const row = nextBySeq.get(sessionId, seq) as { first_gseq: number } | undefined;
      return row === undefined ? null : row.first_gseq - 1;
    },
  };
}

/**
 * Writes rows, all or none, in one transaction.
 * @param chain the last known place of the chain's head
 * @returns its new place
 * @throws {Error} of SQLite, or when another process has written the numbers already
 */
export function writeRows(
  statements: JournalStatements,
  rows: readonly JournalRow[],
  chain: { key: Uint8Array; head: ChainPlace },
): ChainPlace {
  const { insert, sessions, history, spend } = statements;
  let places = placesOf(rows, chain);
  inTransaction(statements, () => {
    if (!moveOn(statements, rows, { from: chain.head, places })) {
      const head = statements.chain.head();
      places = placesOf(rows, { ...chain, head });
      if (!moveOn(statements, rows, { from: head, places })) {
        throw new Error(`event ${rows[0]?.first_gseq} does not come after what another process wrote`);
      }
    }
    for (const [at, row] of rows.entries()) {
      const { last_gseq, first_gseq, session_id, first_seq, last_seq, count, body } = row;
      const { number, mac } = places[at]!;
      sessions.note(row);
      for (const fact of row.facts) history.note(session_id, fact);
      if (row.spent !== null) spend.note(session_id, row.spent);
      insert.run(last_gseq, first_gseq, session_id, first_seq, last_seq, count, body, number, mac);
    }
  });
  return places.at(-1) ?? chain.head;
}

function placesOf(rows: readonly JournalRow[], { key, head }: { key: Uint8Array; head: ChainPlace }): ChainPlace[] {
  let place = head;
  return rows.map((row) => place = nextPlace(key, place, linkOfRow(row)));
}

/** False when another process has advanced the journal. */
function moveOn(
  { advance }: JournalStatements,
  rows: readonly JournalRow[],
  { from, places }: { from: ChainPlace; places: readonly ChainPlace[] },
): boolean {
  const { number, mac } = places.at(-1) ?? from;
  return advance.run(rows.at(-1)?.last_gseq ?? 0, number, mac, rows[0]?.first_gseq ?? 0, from.number).changes === 1;
}

/** Runs an action in a transaction: all of it or nothing. */
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

/** The table of lost events. */
interface LostTable {
  /** Lost events of a range, in order. */
  find(range: TombstoneRange): LostRange[];
  note(lost: Omit<LostRange, "adapter_id">): void;
  forget(sessionId: string): void;
}

/** Prepares the statements for the table. */
function prepareLostTable(database: SqliteFile): LostTable {
  const find = (condition: string) =>
    database.prepare(
      `SELECT gseq, lost_event.session_id, from_seq, to_seq, at, adapter_id FROM lost_event
        LEFT JOIN session ON session.session_id = lost_event.session_id
        WHERE gseq > ? AND gseq <= ?${condition} ORDER BY gseq LIMIT ?`,
    );
  const all = find("");
  const ofSession = find(" AND lost_event.session_id = ?");
  const note = database.prepare("INSERT OR IGNORE INTO lost_event VALUES (?, ?, ?, ?, ?)");
  const forget = database.prepare("DELETE FROM lost_event WHERE session_id = ?");
  // Hardly any journal has lost something, and every page would ask.
  let isEmpty = database.prepare("SELECT gseq FROM lost_event LIMIT 1").get() === undefined;
  return {
    find({ after, upTo, sessionId, limit }) {
      if (isEmpty) return [];
      const rows = sessionId === undefined ? all.all(after, upTo, limit) : ofSession.all(after, upTo, sessionId, limit);
      return rows as LostRange[];
    },
    note({ gseq, session_id, from_seq, to_seq, at }) {
      isEmpty = false;
      note.run(gseq, session_id, from_seq, to_seq, at);
    },
    forget: (sessionId) => void (isEmpty || forget.run(sessionId)),
  };
}
