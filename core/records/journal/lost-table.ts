import type { SqliteFile } from "../../ground/runtime/sqlite.ts";
import type { LostRange } from "./gap.ts";
import type { TombstoneRange } from "./read-page.ts";

/** The table of lost events. */
export interface LostTable {
  /** Lost events of a range, in order. */
  find(range: TombstoneRange): LostRange[];
  note(lost: Omit<LostRange, "adapter_id">): void;
  forget(sessionId: string): void;
}

/** Prepares the statements for the table. */
export function prepareLostTable(database: SqliteFile): LostTable {
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
