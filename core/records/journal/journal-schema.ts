import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { SqliteFile } from "../../ground/platform/state/sqlite.ts";
import { chainOrigin } from "./chain.ts";
import { DamageError } from "./damage.ts";
import { chainRows, fillHistoryTables, fillSessionTable, fillSpendTable } from "./fill-tables.ts";
import { historySchema } from "./history-table.ts";
import { spendSchema } from "./spend-table.ts";
import { orderSessions } from "./session-table.ts";

/** Marks the file as ours; "BLKH" in ASCII. */
const applicationId = 0x424c4b48;

/** One step for each version of the schema; never change one that was released. */
const migrations: readonly ((database: SqliteFile, key: Uint8Array) => void)[] = [
  (database) =>
    database.exec(`
      CREATE TABLE batch (
        last_gseq INTEGER PRIMARY KEY,
        first_gseq INTEGER NOT NULL,
        session_id TEXT NOT NULL,
        first_seq INTEGER NOT NULL,
        last_seq INTEGER NOT NULL,
        count INTEGER NOT NULL,
        body TEXT NOT NULL
      ) STRICT;
      CREATE INDEX batch_by_session ON batch (session_id, last_gseq);
      CREATE TABLE state (id INTEGER PRIMARY KEY CHECK (id = 1), last_gseq INTEGER NOT NULL) STRICT;
      INSERT INTO state VALUES (1, 0);
    `),
  (database) =>
    database.exec(`
      CREATE TABLE open_session (session_id TEXT PRIMARY KEY, first_gseq INTEGER NOT NULL) STRICT, WITHOUT ROWID;
      CREATE INDEX open_session_by_age ON open_session (first_gseq);
      INSERT INTO open_session SELECT session_id, min(first_gseq) FROM batch GROUP BY session_id
        HAVING sum(instr(body, '{"type":"session_ended",') > 0) = 0;
    `),
  (database, key) => {
    // state 0: runs, 1: has ended, 2: deleted. last_gseq is the first one while it runs.
    database.exec(`
      CREATE TABLE session (
        first_gseq INTEGER PRIMARY KEY,
        session_id TEXT NOT NULL UNIQUE,
        state INTEGER NOT NULL,
        last_gseq INTEGER NOT NULL,
        last_seq INTEGER,
        adapter_id TEXT,
        workdir TEXT NOT NULL,
        title TEXT NOT NULL,
        task_id TEXT,
        labels TEXT NOT NULL,
        started_at TEXT NOT NULL,
        ended_at TEXT,
        outcome TEXT,
        stop_reason TEXT,
        deleted_at TEXT,
        deleted_by TEXT
      ) STRICT;
      CREATE INDEX session_by_end ON session (state, last_gseq);
      DROP TABLE open_session;
      ALTER TABLE batch ADD COLUMN number INTEGER;
      ALTER TABLE batch ADD COLUMN mac TEXT;
      ALTER TABLE state ADD COLUMN head_number INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE state ADD COLUMN head_mac TEXT NOT NULL DEFAULT '${chainOrigin.mac}';
      CREATE TABLE link (
        number INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        session_id TEXT NOT NULL,
        gseq INTEGER NOT NULL,
        digest TEXT NOT NULL,
        mac TEXT NOT NULL
      ) STRICT;
      CREATE INDEX link_by_session ON link (session_id, kind);
      CREATE TABLE base (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        number INTEGER NOT NULL,
        mac TEXT NOT NULL,
        gseq INTEGER NOT NULL,
        seal TEXT NOT NULL
      ) STRICT;
    `);
    fillSessionTable(database);
    chainRows(database, key);
  },
  (database) =>
    database.exec(`
      CREATE TABLE idempotency (
        number INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        digest TEXT NOT NULL,
        session_id TEXT NOT NULL
      ) STRICT;
      CREATE INDEX idempotency_by_session ON idempotency (session_id);
    `),
  (database) => {
    database.exec(historySchema);
    database.exec("CREATE INDEX session_by_start ON session (started_at)");
    fillHistoryTables(database);
  },
  // From here on the lists of events are packed: an older host would take their strings for events.
  () => {},
  // What a damaged journal has lost: events of a session, and the links of batches. Both stand where they stood. And the
  // order of sessions, which a clock that was set back must not change.
  (database) =>
    database.exec(`
      ALTER TABLE session ADD COLUMN sorted_at TEXT NOT NULL DEFAULT '';
      DROP INDEX session_by_start;
      CREATE INDEX session_by_order ON session (sorted_at);
      ${orderSessions}
      CREATE TABLE lost_event (
        gseq INTEGER PRIMARY KEY,
        session_id TEXT NOT NULL,
        from_seq INTEGER NOT NULL,
        to_seq INTEGER NOT NULL,
        at TEXT NOT NULL
      ) STRICT;
      CREATE INDEX lost_event_by_session ON lost_event (session_id);
      CREATE TABLE lost_link (first INTEGER PRIMARY KEY, last INTEGER NOT NULL, mac TEXT, seal TEXT NOT NULL) STRICT;
    `),
  // The table of what sessions have used, as the next step makes it.
  () => {},
  (database) => {
    database.exec("DROP TABLE IF EXISTS spend");
    database.exec(spendSchema);
    fillSpendTable(database);
  },
  // Conversations: before, each session was one of its own.
  (database) =>
    database.exec(`
      ALTER TABLE session ADD COLUMN conversation_id TEXT NOT NULL DEFAULT '';
      ALTER TABLE session ADD COLUMN follows_session TEXT;
      ALTER TABLE session ADD COLUMN last_turn INTEGER NOT NULL DEFAULT 1;
      UPDATE session SET conversation_id = session_id;
      CREATE INDEX session_by_conversation ON session (conversation_id, sorted_at);
    `),
];

/** Names of everything that the newest schema defines, but for what SQLite adds by itself. */
export const definedNames: readonly string[] = [
  ...["base", "batch", "batch_by_session", "attempt", "child", "child_left", "granted", "idempotency"],
  ...["idempotency_by_session", "link", "link_by_session", "lost_event", "lost_event_by_session", "lost_link"],
  ...["session", "session_by_conversation", "session_by_end", "session_by_order", "spend", "state"],
];

/** The newest schema's version. */
export const schemaVersion: number = migrations.length;

/**
 * Brings a database file to the newest schema.
 * @param options `key` is the chain's; `to` an older version, for tests
 * @throws {BulkheadError} `journal_error` for a file of another program or of a newer version; else SQLite's errors
 */
export function migrate(
  database: SqliteFile,
  { file, key, to = schemaVersion }: { file: string; key: Uint8Array; to?: number },
): void {
  database.exec("BEGIN IMMEDIATE");
  try {
    const version = readNumber(database, "PRAGMA user_version", "user_version");
    const owner = readNumber(database, "PRAGMA application_id", "application_id");
    const tables = readNumber(database, "SELECT count(*) AS tables FROM sqlite_schema", "tables");
    if (owner !== applicationId && (version !== 0 || owner !== 0 || tables !== 0)) throw foreignError(file);
    if (version > schemaVersion) throw newerError(file, version);
    for (const step of migrations.slice(version, to)) step(database, key);
    if (version < to) {
      database.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${to}`);
    }
    database.exec("COMMIT");
  } catch (error) {
    database.exec("ROLLBACK");
    throw error;
  }
}

/** One number from one row. */
export function readNumber(database: SqliteFile, sql: string, column: string): number {
  const row = database.prepare(sql).get();
  const value: unknown = typeof row === "object" && row !== null ? Reflect.get(row, column) : undefined;
  if (typeof value !== "number") throw new TypeError(`the database gave no number for "${sql}"`);
  return value;
}

function foreignError(file: string): BulkheadError {
  const message = `Cannot open the journal "${file}": it is a database of another program.`;
  // Where the journal's key is, its file was another one.
  const cause = new DamageError("it is a database of another program");
  return new BulkheadError("journal_error", message, { hint: "Set another state_dir.", cause });
}

function newerError(file: string, version: number): BulkheadError {
  return new BulkheadError("journal_error", `Cannot open the journal "${file}": a newer version of the host made it.`, {
    hint: "Run the version that made it, or set another state_dir.",
    details: { schema_version: version, known_version: schemaVersion },
  });
}
