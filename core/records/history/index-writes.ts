import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { SqliteFile } from "../../ground/platform/state/sqlite.ts";
import type { Document } from "./joined-outputs.ts";

/** A session as the index numbers it. */
interface IndexedSession {
  number: number;
  session_id: string;
}

/** Writes of an index. */
export interface IndexWrites {
  inTransaction<T>(write: () => T): T;
  /** Number of the last event that is in the index. */
  indexedTo(): number;
  /** Notes the facts of an event. */
  note(envelope: Envelope): void;
  addDocument(document: Document): void;
  /** Notes the time of an event, and up to which number nothing has to be read again. */
  tick(last: Envelope, complete: number): void;
  /** Notes that no event with a time has to be read again. */
  complete(): void;
  sessionsAfter(number: number, limit: number): IndexedSession[];
  dropSession(number: number): void;
  /** Drops the words and uses of the oldest tenth. */
  dropOldest(): void;
}

/** Prepares the statements that write an index. */
export function prepareWrites(database: SqliteFile): IndexWrites {
  const sql = prepared(database);
  /** Numbers of the sessions that wrote last, so that most events need no look-up. */
  const numbers = new Map<string, number>();
  const numberOf = ({ session_id, gseq }: Pick<Envelope, "session_id" | "gseq">): number => {
    const known = numbers.get(session_id);
    if (known !== undefined) return known;
    sql.begin.run(session_id, gseq);
    const { number } = sql.find.get(session_id) as { number: number };
    if (numbers.size >= 1024) numbers.clear();
    numbers.set(session_id, number);
    return number;
  };
  return {
    inTransaction(write) {
      database.exec("BEGIN IMMEDIATE");
      try {
        const value = write();
        database.exec("COMMIT");
        return value;
      } catch (error) {
        numbers.clear();
        try {
          database.exec("ROLLBACK");
        } catch {
          // The failure itself has ended the transaction.
        }
        throw error;
      }
    },
    indexedTo: () => (sql.progress.get() as { gseq: number }).gseq,
    note: (envelope) => noteFacts(envelope, { sql, number: numberOf(envelope) }),
    addDocument({ gseq, session_id, adapter_id, text }) {
      // After the end of a process some are read a second time.
      sql.dropWords.run(gseq);
      sql.addWords.run(gseq, text);
      sql.addDocument.run(gseq, numberOf({ session_id, gseq }), adapter_id);
    },
    tick({ gseq, ts }, complete) {
      sql.tick.run(gseq, ts);
      sql.setProgress.run(complete);
    },
    complete: () => void sql.setAllDone.run(),
    sessionsAfter: (number, limit) => sql.sessions.all(number, limit) as IndexedSession[],
    dropSession(number) {
      for (const drop of sql.dropSession) drop.run(number);
      numbers.clear();
    },
    dropOldest() {
      const { gseq } = sql.oldestTenth.get() as { gseq: number };
      for (const drop of sql.dropOldest) drop.run(gseq);
    },
  };
}

type Prepared = ReturnType<typeof prepared>;

function noteFacts(
  { gseq, seq, ts, adapter, event }: Envelope,
  { sql, number }: { sql: Prepared; number: number },
): void {
  switch (event.type) {
    case "session_started": {
      for (const [name, value] of Object.entries(event.labels)) sql.label.run(number, name, value);
      return;
    }
    case "capability": {
      // Such calls come in every session, and no one has to know.
      if (event.needed === false) return;
      const { permission, target, decision } = event;
      sql.use.run(gseq, number, seq, ts, adapter.id, permission, target, decision, JSON.stringify(event));
      return;
    }
    case "permission_request":
    case "question":
      sql.request.run(number, event.request_id, gseq);
      return;
    case "permission_resolved":
      sql.resolve.run(gseq, number, event.request_id);
      return;
    case "session_ended":
      sql.end.run(gseq, number);
      sql.resolveAll.run(gseq, number);
      return;
  }
}

function prepared(database: SqliteFile) {
  return {
    progress: database.prepare("SELECT gseq FROM progress"),
    setProgress: database.prepare("UPDATE progress SET gseq = ?"),
    setAllDone: database.prepare("UPDATE progress SET gseq = max(gseq, (SELECT coalesce(max(gseq), 0) FROM tick))"),
    begin: database.prepare("INSERT OR IGNORE INTO session (session_id, first_gseq) VALUES (?, ?)"),
    find: database.prepare("SELECT number FROM session WHERE session_id = ?"),
    end: database.prepare("UPDATE session SET end_gseq = ? WHERE number = ?"),
    label: database.prepare("INSERT OR REPLACE INTO label VALUES (?, ?, ?)"),
    use: database.prepare("INSERT OR REPLACE INTO use VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"),
    request: database.prepare("INSERT OR IGNORE INTO request (session, request_id, gseq) VALUES (?, ?, ?)"),
    resolve: database.prepare("UPDATE request SET end_gseq = ? WHERE session = ? AND request_id = ?"),
    resolveAll: database.prepare("UPDATE request SET end_gseq = ? WHERE session = ? AND end_gseq IS NULL"),
    tick: database.prepare("INSERT OR REPLACE INTO tick VALUES (?, ?)"),
    dropWords: database.prepare("DELETE FROM words WHERE rowid = ?"),
    addWords: database.prepare("INSERT INTO words (rowid, body) VALUES (?, ?)"),
    addDocument: database.prepare("INSERT OR REPLACE INTO document VALUES (?, ?, ?)"),
    sessions: database.prepare("SELECT number, session_id FROM session WHERE number > ? ORDER BY number LIMIT ?"),
    oldestTenth: database.prepare(
      "SELECT coalesce(min(gseq) + (max(gseq) - min(gseq)) / 10, 0) AS gseq FROM document",
    ),
    dropSession: [
      "DELETE FROM words WHERE rowid IN (SELECT gseq FROM document WHERE session = ?)",
      "DELETE FROM document WHERE session = ?",
      "DELETE FROM label WHERE session = ?",
      "DELETE FROM use WHERE session = ?",
      "DELETE FROM request WHERE session = ?",
      "DELETE FROM session WHERE number = ?",
    ].map((text) => database.prepare(text)),
    dropOldest: [
      "DELETE FROM words WHERE rowid IN (SELECT gseq FROM document WHERE gseq <= ?)",
      "DELETE FROM document WHERE gseq <= ?",
      "DELETE FROM use WHERE gseq <= ?",
    ].map((text) => database.prepare(text)),
  };
}
