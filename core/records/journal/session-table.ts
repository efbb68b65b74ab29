import type { SqliteFile, SqlStatement, SqlValue } from "../../ground/platform/state/sqlite.ts";
import { undamaged } from "./damage.ts";
import type { Tombstone } from "./gap.ts";
import type { JournalRow } from "./journal-row.ts";
import type { TombstoneRange } from "./read-page.ts";
import { conditionsOf, folderName, tableStates } from "./session-conditions.ts";
import type { SessionGroup } from "./session-groups.ts";
import type {
  DeletedBy,
  SessionFilter,
  SessionOpening,
  SessionRecord,
  SessionSpan,
  SessionStretch,
} from "./session-record.ts";

/** State of a running session in its table. */
const { running, ended, deleted } = tableStates;

/** The table of sessions, written together with their events. */
export interface SessionTable {
  /** Records a row's changes of its session; within the transaction that writes the row. */
  note(row: JournalRow): void;
  /** Running sessions, the oldest first. */
  running(): string[];
  /** Returns the row that is so many rows after another one, the newest first; null where the table ends before. */
  rowAfter(before: SessionFilter["before"], rows: number): NonNullable<SessionFilter["before"]> | null;
  list(filter: SessionFilter, stretch: SessionStretch): SessionRecord[];
  /** Sessions that match, by all that they can be counted by. */
  groups(span: SessionSpan, stretch: SessionStretch): SessionGroup[];
  get(sessionId: string): SessionRecord | null;
  findTombstones(range: TombstoneRange): Tombstone[];
  /** The session that ended first; null where none has. */
  oldestEnded(): SessionRecord | null;
  /** A deleted session with batches left to erase; null where there is none. */
  halfErased(): string | null;
  /** Removes tombstones beyond this number, the oldest first. */
  forgetTombstones(beyond: number): void;
  /** Buries a session; false where there is no such session that has ended, or with `leftOpen` none at all. */
  bury(sessionId: string, deletion: { at: string; by: DeletedBy; leftOpen?: boolean }): boolean;
}

/** A row of the table; it is ours and STRICT. */
interface TableRow {
  session_id: string;
  state: number;
  first_gseq: number;
  last_gseq: number;
  last_seq: number;
  adapter_id: string | null;
  workdir: string;
  title: string;
  task_id: string | null;
  labels: string;
  started_at: string;
  sorted_at: string;
  ended_at: string | null;
  outcome: SessionRecord["outcome"];
  stop_reason: SessionRecord["stop_reason"];
  deleted_at: string | null;
  deleted_by: DeletedBy | null;
  conversation_id: string;
  follows_session: string | null;
  last_turn: number;
  cost: number | null;
  currency: string | null;
  model: string | null;
}

/** Sessions that are alike in what they are counted by. */
interface GroupRow extends Pick<TableRow, "state" | "outcome" | "adapter_id" | "labels"> {
  interrupted: 0 | 1 | null;
  folder: string;
  count: number;
}

/** Columns as they stand in the table. */
export const sessionColumns: readonly string[] = [
  "first_gseq",
  "session_id",
  "state",
  "last_gseq",
  "last_seq",
  "adapter_id",
  "workdir",
  "title",
  "task_id",
  "labels",
  "started_at",
  "ended_at",
  "outcome",
  "stop_reason",
  "deleted_at",
  "deleted_by",
  "conversation_id",
  "follows_session",
  "last_turn",
];

/** A running session's `seq` comes from its newest batch, or what is lost after it: its row is not written for each of them. */
const columns =
  `session_id, state, sorted_at, first_gseq, last_gseq, adapter_id, workdir, title, task_id, labels, started_at,
  ended_at, outcome, stop_reason, deleted_at, deleted_by, conversation_id, follows_session, last_turn,
  (SELECT cost FROM spend WHERE spend.session = session.first_gseq) AS cost,
  (SELECT currency FROM spend WHERE spend.session = session.first_gseq) AS currency,
  (SELECT model FROM spend WHERE spend.session = session.first_gseq) AS model, coalesce(last_seq, max(
  coalesce((SELECT batch.last_seq FROM batch WHERE batch.session_id = session.session_id
    ORDER BY batch.last_gseq DESC LIMIT 1), 0),
  coalesce((SELECT max(to_seq) FROM lost_event WHERE lost_event.session_id = session.session_id), 0))) AS last_seq`;

/** Fills the column by which sessions are listed, of all sessions. */
export const orderSessions = `
  UPDATE session SET sorted_at = known.sorted_at FROM
    (SELECT first_gseq, max(started_at) OVER (ORDER BY first_gseq) AS sorted_at FROM session) AS known
    WHERE known.first_gseq = session.first_gseq;
`;

/**
 * Prepares the statement that writes the table from events.
 * @param options `isNewest`: false for an older schema, without the columns of {@link orderSessions} and of conversations
 */
export function prepareSessionNotes(
  database: SqliteFile,
  { isNewest = true }: { isNewest?: boolean } = {},
): Pick<SessionTable, "note"> {
  const { open, settle, close, move, turn } = prepareNotes(database, isNewest);
  return {
    note(row) {
      const { session_id, last_gseq, last_seq, opening, adapter_id, ending } = row;
      if (opening !== null) {
        open.run(...openingValues(row, opening));
        const { started_at, conversation_id, follows_session, last_turn } = opening;
        settle?.run(conversation_id, follows_session, last_turn, started_at, row.first_gseq, row.first_gseq);
      } else if (ending !== null) {
        const { ended_at, outcome, stop_reason } = ending;
        close.run(last_gseq, last_seq, ending.adapter_id, ended_at, outcome, stop_reason, session_id);
      } else if (adapter_id !== null) {
        move.run(adapter_id, session_id);
      }
      if (row.turn !== null) turn?.run(row.turn, session_id);
    },
  };
}

/** Prepares the statements for the table. */
export function prepareSessionTable(database: SqliteFile): SessionTable {
  const { bury, forget } = prepareWrites(database);
  const { edge, allRunning, one, tombstone, tombstones, oldest, halfErased } = prepareReads(database);
  const listing = prepareOnce(database);
  return {
    ...prepareSessionNotes(database),
    running: () => (allRunning.all() as { session_id: string }[]).map(({ session_id }) => session_id),
    rowAfter: (before, rows) =>
      (edge.get(before?.sorted_at ?? afterAll, before?.first_gseq ?? 0, rows - 1) ?? null) as ReturnType<
        SessionTable["rowAfter"]
      >,
    list(filter, stretch) {
      const { where, values } = conditionsOf(filter, stretch);
      const sql = `SELECT ${columns} FROM session WHERE ${where} ORDER BY sorted_at DESC, first_gseq DESC LIMIT ?`;
      return (listing(sql).all(...values, filter.limit) as TableRow[]).map(recordOf);
    },
    groups(span, stretch) {
      const { where, values } = conditionsOf(span, stretch);
      const sql =
        `SELECT state, outcome, stop_reason = 'interrupted' AS interrupted, adapter_id, ${folderName} AS folder,
        labels, count(*) AS count FROM session INDEXED BY session_by_order WHERE ${where} GROUP BY 1, 2, 3, 4, 5, 6`;
      return (listing(sql).all(...values) as GroupRow[]).map(groupOf);
    },
    get: (sessionId) => recordOrNull(one.get(sessionId)),
    findTombstones({ after, upTo, sessionId, limit }) {
      const rows = sessionId === undefined ? tombstones.all(after, upTo, limit) : tombstone.all(sessionId, after, upTo);
      return (rows as TableRow[]).map(recordOf).filter(isTombstone);
    },
    oldestEnded: () => recordOrNull(oldest.get()),
    halfErased: () => (halfErased.get() as { session_id: string } | undefined)?.session_id ?? null,
    forgetTombstones: (beyond) => void forget.run(beyond),
    bury: (sessionId, { at, by, leftOpen = false }) =>
      bury.run(at, by, sessionId, leftOpen ? running : ended).changes === 1,
  };
}

/** Prepares each query once; forgets all of them when there are too many different ones. */
function prepareOnce(database: SqliteFile): (sql: string) => SqlStatement {
  const known = new Map<string, SqlStatement>();
  return (sql) => {
    if (known.size >= mostQueries) known.clear();
    const statement = known.get(sql) ?? database.prepare(sql);
    known.set(sql, statement);
    return statement;
  };
}

/** Filters make so many different queries at most. */
const mostQueries = 64;

function prepareNotes(database: SqliteFile, isNewest: boolean) {
  return {
    settle: isNewest
      ? database.prepare(
        `UPDATE session SET conversation_id = ?, follows_session = ?, last_turn = ?, sorted_at = max(?, coalesce((SELECT sorted_at FROM session AS before
          WHERE before.first_gseq < ? ORDER BY before.first_gseq DESC LIMIT 1), '')) WHERE first_gseq = ?`,
      )
      : null,
    open: database.prepare(
      `INSERT OR IGNORE INTO session (first_gseq, session_id, state, last_gseq, adapter_id, workdir, title, task_id,
        labels, started_at, last_seq, ended_at, outcome, stop_reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    close: database.prepare(
      `UPDATE session SET state = ${ended}, last_gseq = ?, last_seq = ?, adapter_id = ?, ended_at = ?, outcome = ?,
        stop_reason = ? WHERE session_id = ?`,
    ),
    move: database.prepare("UPDATE session SET adapter_id = ? WHERE session_id = ?"),
    turn: isNewest ? database.prepare("UPDATE session SET last_turn = ? WHERE session_id = ?") : null,
  };
}

function prepareWrites(database: SqliteFile) {
  return {
    bury: database.prepare(
      `UPDATE session SET state = ${deleted}, deleted_at = ?, deleted_by = ?, workdir = '', title = '', task_id = NULL,
        labels = '{}', last_gseq = max(last_gseq, coalesce((SELECT max(batch.last_gseq) FROM batch
        WHERE batch.session_id = session.session_id), 0)), last_seq = coalesce(last_seq, (SELECT max(batch.last_seq)
        FROM batch WHERE batch.session_id = session.session_id)) WHERE session_id = ? AND state IN (${ended}, ?)`,
    ),
    forget: database.prepare(
      `DELETE FROM session WHERE state = ${deleted} AND last_gseq <= (SELECT last_gseq FROM session
        WHERE state = ${deleted} ORDER BY last_gseq DESC LIMIT 1 OFFSET ?)`,
    ),
  };
}

/** Comes after every time. */
const afterAll = "~";

function prepareReads(database: SqliteFile) {
  return {
    edge: database.prepare(
      `SELECT sorted_at, first_gseq, session_id FROM session WHERE (sorted_at, first_gseq) < (?, ?)
        ORDER BY sorted_at DESC, first_gseq DESC LIMIT 1 OFFSET ?`,
    ),
    allRunning: database.prepare(`SELECT session_id FROM session WHERE state = ${running} ORDER BY last_gseq`),
    one: database.prepare(`SELECT ${columns} FROM session WHERE session_id = ?`),
    tombstone: database.prepare(
      `SELECT ${columns} FROM session WHERE session_id = ? AND state = ${deleted} AND last_gseq > ? AND last_gseq <= ?`,
    ),
    tombstones: database.prepare(
      `SELECT ${columns} FROM session WHERE state = ${deleted} AND last_gseq > ? AND last_gseq <= ?
        ORDER BY last_gseq LIMIT ?`,
    ),
    oldest: database.prepare(`SELECT ${columns} FROM session WHERE state = ${ended} ORDER BY last_gseq LIMIT 1`),
    halfErased: database.prepare(
      `SELECT session_id FROM session WHERE state = ${deleted}
        AND EXISTS (SELECT 1 FROM batch WHERE batch.session_id = session.session_id) LIMIT 1`,
    ),
  };
}

/** Values of a new row; a batch may hold a session's first event and its last. */
function openingValues(row: JournalRow, { workdir, title, task_id, labels, started_at }: SessionOpening): SqlValue[] {
  const { session_id, first_gseq, last_gseq, last_seq, adapter_id, ending } = row;
  return [
    first_gseq,
    session_id,
    ending === null ? running : ended,
    ending === null ? first_gseq : last_gseq,
    ending?.adapter_id ?? adapter_id,
    workdir,
    title,
    task_id,
    JSON.stringify(labels),
    started_at,
    ending === null ? null : last_seq,
    ending?.ended_at ?? null,
    ending?.outcome ?? null,
    ending?.stop_reason ?? null,
  ];
}

function recordOrNull(found: unknown): SessionRecord | null {
  return found === undefined ? null : recordOf(found as TableRow);
}

function recordOf({ state, labels, deleted_at, deleted_by, ...row }: TableRow): SessionRecord {
  return {
    session_id: row.session_id,
    state: state === running ? "running" : "ended",
    adapter_id: row.adapter_id,
    workdir: row.workdir,
    title: row.title,
    task_id: row.task_id,
    labels: readLabels(labels),
    started_at: row.started_at,
    sorted_at: row.sorted_at,
    ended_at: row.ended_at,
    outcome: row.outcome,
    stop_reason: row.stop_reason,
    last_seq: row.last_seq,
    first_gseq: row.first_gseq,
    last_gseq: row.last_gseq,
    conversation_id: row.conversation_id,
    follows_session: row.follows_session,
    last_turn: row.last_turn,
    cost: row.cost,
    currency: row.currency,
    model: row.model,
    deleted: deleted_at === null || deleted_by === null ? null : { at: deleted_at, by: deleted_by },
  };
}

function groupOf({ state, labels, interrupted, ...row }: GroupRow): SessionGroup {
  return {
    ...row,
    state: state === running ? "running" : "ended",
    interrupted: interrupted === 1,
    labels: readLabels(labels),
  };
}

function readLabels(text: string): Record<string, string> {
  return undamaged("a session's labels", () => JSON.parse(text) as Record<string, string>);
}

function isTombstone(record: SessionRecord): record is SessionRecord & Tombstone {
  return record.deleted !== null;
}
