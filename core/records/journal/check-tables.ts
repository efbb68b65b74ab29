import { sortKeys } from "../../ground/platform/files/hash.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { SessionHistory } from "../../../plugin-sdk/session-history.ts";
import type { SqliteFile } from "../../ground/platform/state/sqlite.ts";
import type { ChainedRow } from "./chain-table.ts";
import { asBytes, lenientText } from "./damage.ts";
import { addFact, emptyHistory, factOf, mayHoldFacts } from "./history-fact.ts";
import { attemptColumns, childColumns, grantedColumns } from "./history-table.ts";
import { envelopesAfter } from "./journal-row.ts";
import { endingOf, openingOf } from "./session-record.ts";
import { spendColumns, spentOf } from "./spend-table.ts";
import { sessionColumns } from "./session-table.ts";

/** A session whose table rows contradict its events. */
export interface Misstated {
  /** Null where its owner is unknown. */
  session_id: string | null;
  /** Number of the link of its first batch; 0 where it has none. */
  link: number;
  /** Number of its first event. */
  from_gseq: number;
  /** Null where it has no event. */
  to_gseq: number | null;
}

/** Checks the tables beside the events while the events are read, batch after batch in their order. */
export interface TableCheck {
  /** Takes a batch; `fits` is false for one that its link does not vouch for. */
  take(row: ChainedRow, fits: boolean): Misstated | null;
  /** Problems that show only at the end; none where some events are missing. */
  finish(options: { whole: boolean }): Misstated[];
}

type Values = Record<string, string | number | null>;

/** State of a session after its events so far. */
interface Told {
  /** Null where the row is unknown: an event is missing or was changed. */
  row: Values | null;
  history: SessionHistory;
  spent: Values[];
  link: number;
  from_gseq: number;
  to_gseq: number;
  last_seq: number;
}

/**
 * Checks that the tables beside the events match them.
 * @param isDeleted whether the chain says that a session was deleted: its row is a tombstone then
 */
export function checkTables(database: SqliteFile, isDeleted: (sessionId: string) => boolean): TableCheck {
  const tables = readTables(database);
  const open = new Map<string, Told>();
  /** Sessions found, by their first event. */
  const found = new Set<number>();

  return {
    take(row, fits) {
      const { session_id } = row;
      const told = open.get(session_id) ?? begin(row);
      open.set(session_id, told);
      if (!fits || row.first_seq !== told.last_seq + 1) told.row = null;
      told.to_gseq = row.last_gseq;
      told.last_seq = row.last_seq;
      const hasEnded = told.row !== null && add(told, row);
      if (!hasEnded) return null;
      open.delete(session_id);
      if (agrees(session_id, told)) return null;
      found.add(told.from_gseq);
      return misstated(session_id, told);
    },
    finish({ whole }) {
      if (!whole) return [];
      const running = [...open].filter(([id, told]) => !agrees(id, told)).map(([id, told]) => misstated(id, told));
      for (const { from_gseq } of running) found.add(from_gseq);
      const bare = tables.withoutEvents().filter(({ from_gseq }) => !found.has(from_gseq));
      return [...running, ...bare.map((one) => ({ ...one, link: 0, to_gseq: null }))];
    },
  };

  function agrees(sessionId: string, { row, history, spent, from_gseq }: Told): boolean {
    if (row === null) return true;
    const found = tables.session(sessionId);
    if (isDeleted(sessionId)) return found === null || found["state"] === 2;
    return isSame(found, row) && isSame(tables.history(from_gseq), rowsOf(history)) &&
      (spent.length === 0 || isSame(tables.spend(from_gseq), spent));
  }
}

function misstated(session_id: string, { link, from_gseq, to_gseq }: Told): Misstated {
  return { session_id, link, from_gseq, to_gseq };
}

function begin({ first_seq, first_gseq, number }: ChainedRow): Told {
  return {
    row: first_seq === 1 ? { first_gseq } : null,
    history: emptyHistory(),
    spent: [],
    link: number ?? 0,
    from_gseq: first_gseq,
    to_gseq: first_gseq,
    last_seq: first_seq - 1,
  };
}

const endsHere = '"type":"session_ended"';

/** Adds a batch; true where it is the session's last one. */
function add(told: Told, row: ChainedRow): boolean {
  const isFirst = row.first_seq === 1;
  const mayEnd = row.body.includes(endsHere);
  if (!isFirst && !mayEnd && !mayHoldFacts(row.body)) return false;
  const envelopes = envelopesOf(row.body);
  const [first] = envelopes;
  const last = envelopes.at(-1);
  if (first === undefined || last === undefined) {
    told.row = null;
    return false;
  }
  const facts = envelopes.flatMap((envelope) => factOf(envelope) ?? []);
  for (const fact of facts) addFact(told.history, fact);
  if (isFirst) told.row = openRow(row, first);
  for (const fact of facts) if (fact.what === "attempt") told.row!["adapter_id"] = fact.row.adapter_id;
  for (const fact of facts) if (fact.what === "turn") told.row!["last_turn"] = fact.turn;
  const ending = endingOf(last);
  const spent = spentOf(last);
  if (spent !== null) told.spent = [{ ...spent }];
  if (ending === null) return false;
  Object.assign(told.row!, ending, { state: 1, last_gseq: row.last_gseq, last_seq: row.last_seq });
  return true;
}

function openRow({ session_id, first_gseq }: ChainedRow, first: Envelope): Values {
  const { labels, ...opening } = openingOf(first);
  const unknown = { last_seq: null, adapter_id: null, ended_at: null, outcome: null, stop_reason: null };
  const kept = { deleted_at: null, deleted_by: null };
  const numbers = { first_gseq, session_id, state: 0, last_gseq: first_gseq };
  return { ...numbers, ...unknown, ...kept, ...opening, labels: JSON.stringify(labels) };
}

function envelopesOf(body: string): Envelope[] {
  try {
    return envelopesAfter(body, 0);
  } catch {
    return [];
  }
}

/** The rows of one session in the history tables, by table. */
type HistoryRows = Record<"attempt" | "child" | "granted", Values[]>;

function rowsOf({ attempts, children, grants }: SessionHistory): HistoryRows {
  return {
    attempt: attempts.map((row) => ({ ...row })),
    child: children.map((row) => ({ ...row })),
    granted: grants.map(({ permissions, ...row }) => ({ ...row, permissions: JSON.stringify(permissions) })),
  };
}

const spendFigures = ["cost", "tokens_in", "tokens_out", "tokens_cached", "partial", "requests"];

/** Reads the tables so that no byte in them can do harm. */
function readTables(database: SqliteFile) {
  const numbers = [
    "first_gseq",
    "state",
    "last_gseq",
    "last_seq",
    "last_turn",
    "attempt",
    "process_id",
    "pid",
    "exit_code",
    ...spendFigures,
  ];
  const columnsOf = (names: readonly string[]) =>
    names.map((name) => (numbers.includes(name) ? name : asBytes(name))).join(", ");
  const reader = (table: string, { names, by, order }: { names: readonly string[]; by: string; order: string }) => {
    const all = database.prepare(`SELECT ${columnsOf(names)} FROM ${table} WHERE ${by} = ? ORDER BY ${order}`);
    return (key: string | number) => (all.all(key) as Record<string, unknown>[]).map((row) => valuesOf(row, names));
  };
  const session = reader("session", { names: sessionColumns, by: "session_id", order: "first_gseq" });
  const attempt = reader("attempt", { names: attemptColumns, by: "session", order: "attempt" });
  const child = reader("child", { names: childColumns, by: "session", order: "process_id" });
  const granted = reader("granted", { names: grantedColumns, by: "session", order: "attempt" });
  const bare = database.prepare(
    `SELECT ${asBytes("session_id")}, first_gseq AS from_gseq FROM session WHERE state < 2
        AND NOT EXISTS (SELECT 1 FROM batch WHERE batch.session_id = session.session_id)
      UNION SELECT NULL, session FROM (SELECT session FROM attempt UNION SELECT session FROM child
        UNION SELECT session FROM granted UNION SELECT session FROM spend) WHERE session NOT IN (SELECT first_gseq FROM session WHERE state < 2)
      ORDER BY 2`,
  );
  return {
    session: (id: string): Values | null => session(id)[0] ?? null,
    spend: reader("spend", { names: spendColumns, by: "session", order: "session" }),
    history: (gseq: number): HistoryRows => ({ attempt: attempt(gseq), child: child(gseq), granted: granted(gseq) }),
    withoutEvents: () =>
      (bare.all() as { session_id: unknown; from_gseq: number }[]).map(({ session_id, from_gseq }) => {
        return { session_id: lenientText(session_id), from_gseq };
      }),
  };
}

function valuesOf(row: Record<string, unknown>, names: readonly string[]): Values {
  return Object.fromEntries(names.map((name) => {
    const value = row[name] ?? null;
    return [name, typeof value === "number" ? value : lenientText(value)];
  }));
}

/** Compares rows, ignoring the order of columns; compares a text in the form that a database can hold. */
function isSame(one: unknown, other: unknown): boolean {
  return canonical(one) === canonical(other);
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (key, held: unknown) => {
    return typeof held === "string" ? lenientText(new TextEncoder().encode(held)) : sortKeys(key, held);
  });
}
