import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import type { RecordedAttempt, RecordedChild, SessionHistory } from "../../../plugin-sdk/session-history.ts";
import type { SqliteFile } from "../../ground/platform/state/sqlite.ts";
import { undamaged } from "./damage.ts";
import type { HistoryFact } from "./history-fact.ts";

/** A program of a session whose end was not recorded. */
export interface LeftChild extends Pick<RecordedChild, "pid" | "identity" | "program"> {
  session_id: string;
}

/** The tables of attempts, programs and grants, written together with their events. */
export interface HistoryTable {
  /** Records a fact; within the transaction that writes its event. */
  note(sessionId: string, fact: HistoryFact): void;
  get(sessionId: string): SessionHistory;
  /** Programs whose end was not recorded. */
  left(): LeftChild[];
  forget(sessionId: string): void;
}

/** Columns of the attempts beside their session. */
export const attemptColumns: readonly string[] = ["attempt", "adapter_id", "started_at", "ended_at", "error_code"];
/** Columns of the programs beside their session. */
export const childColumns: readonly string[] = [
  "process_id",
  "attempt",
  "pid",
  "identity",
  "program",
  "started_at",
  "ended_at",
  "exit_code",
  "signal",
];
/** Columns of the grants beside their session. */
export const grantedColumns: readonly string[] = ["attempt", "adapter_id", "permissions"];

/** Definitions of the tables. `session` is its `first_gseq`, so that a write goes to the end of each table. */
export const historySchema = `
  CREATE TABLE attempt (
    session INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    adapter_id TEXT NOT NULL,
    started_at TEXT NOT NULL,
    ended_at TEXT,
    error_code TEXT,
    PRIMARY KEY (session, attempt)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE child (
    session INTEGER NOT NULL,
    process_id INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    pid INTEGER NOT NULL,
    identity TEXT,
    program TEXT NOT NULL,
    started_at TEXT NOT NULL,
    ended_at TEXT,
    exit_code INTEGER,
    signal TEXT,
    PRIMARY KEY (session, process_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX child_left ON child (session) WHERE ended_at IS NULL;
  CREATE TABLE granted (
    session INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    adapter_id TEXT NOT NULL,
    permissions TEXT NOT NULL,
    PRIMARY KEY (session, attempt)
  ) STRICT, WITHOUT ROWID;
`;

/** Prepares the statements for the tables. */
export function prepareHistoryTable(database: SqliteFile): HistoryTable {
  const writes = prepareWrites(database);
  const reads = prepareReads(database);
  return {
    note: (sessionId, fact) => writeFact(writes, { sessionId, fact }),
    get: (sessionId) => historyOf(reads, sessionId),
    left: () => reads.left.all().map((row) => fieldsOf<LeftChild>(row, ["session_id", "pid", "identity", "program"])),
    forget: (sessionId) => {
      for (const forget of writes.forgets) forget.run(sessionId);
    },
  };
}

const ofSession = "session = (SELECT first_gseq FROM session WHERE session_id = ?)";

type Writes = ReturnType<typeof prepareWrites>;
type Reads = ReturnType<typeof prepareReads>;

function prepareWrites(database: SqliteFile) {
  const insert = (table: string, columns: readonly string[]) => {
    const marks = columns.map(() => "?").join(", ");
    return database.prepare(
      `INSERT OR IGNORE INTO ${table} (session, ${columns.join(", ")})
        SELECT first_gseq, ${marks} FROM session WHERE session_id = ?`,
    );
  };
  return {
    addAttempt: insert("attempt", attemptColumns),
    addChild: insert("child", childColumns),
    addGranted: insert("granted", grantedColumns),
    endAttempt: database.prepare(
      `UPDATE attempt SET ended_at = ?, error_code = ? WHERE ${ofSession} AND attempt = ?`,
    ),
    endChild: database.prepare(
      `UPDATE child SET ended_at = ?, exit_code = ?, signal = ? WHERE ${ofSession} AND process_id = ?`,
    ),
    forgets: ["attempt", "child", "granted"].map((table) =>
      database.prepare(`DELETE FROM ${table} WHERE ${ofSession}`)
    ),
  };
}

function prepareReads(database: SqliteFile) {
  const select = (table: string, { columns, order }: { columns: readonly string[]; order: string }) =>
    database.prepare(`SELECT ${columns.join(", ")} FROM ${table} WHERE ${ofSession} ORDER BY ${order}`);
  return {
    // An entry without an end of its own ended with its session.
    attempts: database.prepare(
      `SELECT attempt, attempt.adapter_id, attempt.started_at, coalesce(attempt.ended_at, session.ended_at) AS ended_at,
        error_code FROM attempt JOIN session ON first_gseq = session WHERE session_id = ? ORDER BY attempt`,
    ),
    children: select("child", { columns: childColumns, order: "process_id" }),
    granted: select("granted", { columns: grantedColumns, order: "attempt" }),
    left: database.prepare(
      `SELECT session_id, pid, identity, program FROM child JOIN session ON first_gseq = session
        WHERE child.ended_at IS NULL`,
    ),
  };
}

function writeFact(writes: Writes, { sessionId, fact }: { sessionId: string; fact: HistoryFact }): void {
  const grant = ({ attempt, adapter_id, permissions }: GrantedRow) =>
    void writes.addGranted.run(attempt, adapter_id, JSON.stringify(permissions), sessionId);
  switch (fact.what) {
    case "granted":
      return grant(fact.row);
    case "attempt": {
      const { attempt, adapter_id, started_at } = fact.row;
      writes.addAttempt.run(attempt, adapter_id, started_at, null, null, sessionId);
      if (fact.granted !== null) grant({ attempt, adapter_id, permissions: fact.granted });
      return;
    }
    case "turn":
      return;
    case "attempt_failed":
      return void writes.endAttempt.run(fact.row.ended_at, fact.row.error_code, sessionId, fact.row.attempt);
    case "child": {
      const { process_id, attempt, pid, identity, program, started_at } = fact.row;
      const known = [process_id, attempt, pid, identity, program, started_at];
      return void writes.addChild.run(...known, null, null, null, sessionId);
    }
    case "child_gone": {
      const { process_id, ended_at, exit_code, signal } = fact.row;
      return void writes.endChild.run(ended_at, exit_code, signal, sessionId, process_id);
    }
  }
}

function historyOf({ granted, attempts, children }: Reads, sessionId: string): SessionHistory {
  return {
    grants: (granted.all(sessionId) as TableGrant[]).map((row) => ({
      attempt: row.attempt,
      adapter_id: row.adapter_id,
      permissions: undamaged("a grant", () => JSON.parse(row.permissions) as Permissions),
    })),
    attempts: attempts.all(sessionId).map((row) => fieldsOf<RecordedAttempt>(row, attemptColumns)),
    children: children.all(sessionId).map((row) => fieldsOf<RecordedChild>(row, childColumns)),
  };
}

type GrantedRow = { attempt: number; adapter_id: string; permissions: Permissions };

interface TableGrant extends Omit<GrantedRow, "permissions"> {
  permissions: string;
}

/** Leaves out the fields that the database's library adds to a row. The table is ours and STRICT. */
function fieldsOf<T>(row: unknown, names: readonly string[]): T {
  return Object.fromEntries(names.map((name) => [name, (row as Record<string, unknown>)[name]])) as T;
}
