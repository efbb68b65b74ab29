import type { Envelope } from "../../plugin-sdk/envelope.ts";
import { envelopesAfter } from "../../core/records/journal/journal-row.ts";
import { openSqlite, type SqliteFile } from "../../core/ground/platform/state/sqlite.ts";

/** One row of the journal's own table. */
interface BatchRow {
  session_id: string;
  first_seq: number;
  last_seq: number;
  first_gseq: number;
  last_gseq: number;
}

/** Looks into a journal file whose host is gone, as it lies there, whatever version its schema has. */
export async function lookInto<T>(file: string, act: (database: SqliteFile) => T): Promise<T> {
  const database = await openSqlite(file, { busyTimeoutMs: 10_000 });
  try {
    return act(database);
  } finally {
    database.close();
  }
}

/** What is wrong with the numbers of all events: holes in a session's `seq`, and a `gseq` that does not rise. */
export function faultsOfNumbers(database: SqliteFile): string[] {
  const columns = "session_id, first_seq, last_seq, first_gseq, last_gseq";
  const rows = database.prepare(`SELECT ${columns} FROM batch ORDER BY last_gseq`).all() as BatchRow[];
  const erased = erasedSessions(database);
  const next = new Map<string, number>();
  const faults: string[] = [];
  let gseq = 0;
  for (const row of rows) {
    if (erased.has(row.session_id)) continue;
    const expected = next.get(row.session_id) ?? 1;
    if (row.first_seq !== expected) faults.push(`${row.session_id} has seq ${row.first_seq} in place of ${expected}`);
    if (row.first_gseq <= gseq) faults.push(`gseq ${row.first_gseq} follows ${gseq}`);
    next.set(row.session_id, row.last_seq + 1);
    gseq = row.last_gseq;
  }
  return faults;
}

/** Sessions that were deleted; their events may be half gone. */
function erasedSessions(database: SqliteFile): Set<string> {
  const has = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name = 'session'").get();
  if (has === undefined) return new Set();
  const rows = database.prepare("SELECT session_id FROM session WHERE deleted_at IS NOT NULL").all();
  return new Set(rows.map((row) => (row as { session_id: string }).session_id));
}

/** All events of one session, in order. */
export function eventsOf(database: SqliteFile, sessionId: string): Envelope[] {
  const rows = database.prepare("SELECT body FROM batch WHERE session_id = ? ORDER BY last_gseq").all(sessionId);
  return rows.flatMap((row) => envelopesAfter((row as { body: string }).body, 0));
}

/** Events that a client was shown and that the journal does not hold, or holds otherwise. */
export function lostEvents(database: SqliteFile, shown: ReadonlyMap<string, readonly string[]>): string[] {
  return [...shown].flatMap(([sessionId, texts]) => {
    const held = new Set(eventsOf(database, sessionId).map((envelope) => JSON.stringify(envelope)));
    const lost = texts.filter((text) => !held.has(text));
    return lost.map((text) => `${sessionId} lost ${text.slice(0, 120)}`);
  });
}
