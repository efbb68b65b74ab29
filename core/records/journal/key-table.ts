import type { SqliteFile } from "../../ground/platform/state/sqlite.ts";

/** For which request an idempotency key stands, and which session that became. */
export interface KeyRecord {
  /** Hex digest of the client and the key; neither is kept itself. */
  name: string;
  /** Hex digest of the request. */
  digest: string;
  session_id: string;
}

/** The table of idempotency keys. */
export interface KeyTable {
  find(name: string): KeyRecord | null;
  /** Writes a key, also over one of its name, and forgets the oldest beyond a number. */
  note(record: KeyRecord, most: number): void;
  forget(sessionId: string): void;
}

/** Prepares what is said to the table. */
export function prepareKeyTable(database: SqliteFile): KeyTable {
  const find = database.prepare("SELECT name, digest, session_id FROM idempotency WHERE name = ?");
  const drop = database.prepare("DELETE FROM idempotency WHERE name = ?");
  const insert = database.prepare("INSERT INTO idempotency (name, digest, session_id) VALUES (?, ?, ?)");
  const trim = database.prepare(
    "DELETE FROM idempotency WHERE number <= (SELECT number FROM idempotency ORDER BY number DESC LIMIT 1 OFFSET ?)",
  );
  const forget = database.prepare("DELETE FROM idempotency WHERE session_id = ?");
  return {
    find(name) {
      const row = find.get(name) as KeyRecord | undefined;
      return row === undefined ? null : { name: row.name, digest: row.digest, session_id: row.session_id };
    },
    note({ name, digest, session_id }, most) {
      drop.run(name);
      insert.run(name, digest, session_id);
      trim.run(most);
    },
    forget: (sessionId) => void forget.run(sessionId),
  };
}
