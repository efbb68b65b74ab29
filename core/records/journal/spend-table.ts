import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { fieldsOrNone, stringOf } from "../../../plugin-sdk/json-fields.ts";
import type { UsageReport } from "../../../plugin-sdk/result.ts";
import type { SqliteFile } from "../../ground/platform/state/sqlite.ts";

/** Usage of a session, by its last event. */
export interface Spent
  extends Omit<UsageReport, "duration_ms" | "scope" | "partial" | "requests" | "tokens_used" | "wire"> {
  adapter_id: string;
  /** 1: the figures are at least these. */
  partial: 0 | 1;
  requests: number | null;
}

/** Usage of one session, and when it began. */
export interface SpentRecord extends Spent {
  session_id: string;
  first_gseq: number;
  last_gseq: number;
  started_at: string;
  /** Its labels: a JSON object of texts. */
  labels: string;
}

/** A page of what sessions have used, in the order in which they began. */
export interface SpentPage {
  /** Sessions that began after this one; 0 for the first page. */
  after: number;
  /** RFC 3339, UTC: sessions that began before are left out. */
  since: string;
  limit: number;
}

/** The table of what sessions have used, written together with their last events. */
export interface SpendTable {
  note(sessionId: string, spent: Spent): void;
  page(wanted: SpentPage): SpentRecord[];
  forget(sessionId: string): void;
}

/** Columns beside the session. */
export const spendColumns: readonly string[] = [
  "adapter_id",
  "model",
  "basis",
  "cost",
  "currency",
  "tokens_in",
  "tokens_out",
  "tokens_cached",
  "partial",
  "requests",
];

/** Definition of the table. `session` is the session's `first_gseq`. */
export const spendSchema = `
  CREATE TABLE spend (
    session INTEGER PRIMARY KEY,
    adapter_id TEXT NOT NULL,
    model TEXT,
    basis TEXT NOT NULL,
    cost REAL,
    currency TEXT,
    tokens_in REAL,
    tokens_out REAL,
    tokens_cached REAL,
    partial INTEGER NOT NULL,
    requests REAL
  ) STRICT;
`;

/** Reads what a session has used from its last envelope; null for any other. Unknown is null, as is what is damaged. */
export function spentOf({ event, adapter }: Envelope): Spent | null {
  if (event.type !== "session_ended") return null;
  const usage = fieldsOrNone(fieldsOrNone(event.result)["usage"]);
  const figure = (name: string) => {
    const value = usage[name];
    return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : null;
  };
  const basis = usage["basis"];
  return {
    adapter_id: adapter.id,
    model: stringOf(usage["model"]),
    basis: basis === "wire" || basis === "reported" || basis === "estimated" ? basis : "unknown",
    cost: figure("cost"),
    currency: stringOf(usage["currency"]),
    tokens_in: figure("tokens_in"),
    tokens_out: figure("tokens_out"),
    tokens_cached: figure("tokens_cached"),
    partial: usage["partial"] === true ? 1 : 0,
    requests: figure("requests"),
  };
}

/** Prepares the statements for the table. */
export function prepareSpendTable(database: SqliteFile): SpendTable {
  const add = database.prepare(
    `INSERT OR REPLACE INTO spend (session, ${spendColumns.join(", ")})
      SELECT first_gseq, ${spendColumns.map(() => "?").join(", ")} FROM session WHERE session_id = ?`,
  );
  // The order in which sessions are listed never goes back, so nothing before the first one is looked at.
  const first = database.prepare("SELECT first_gseq FROM session WHERE sorted_at >= ? ORDER BY sorted_at LIMIT 1");
  const page = database.prepare(
    `SELECT session_id, first_gseq, last_gseq, session.started_at, session.labels, ${
      spendColumns.map((name) => `spend.${name}`).join(", ")
    }
      FROM spend JOIN session ON first_gseq = spend.session WHERE spend.session > ? ORDER BY spend.session LIMIT ?`,
  );
  const forget = database.prepare(
    "DELETE FROM spend WHERE session = (SELECT first_gseq FROM session WHERE session_id = ?)",
  );
  return {
    note(sessionId, { adapter_id, model, basis, cost, currency, ...counts }) {
      const { tokens_in, tokens_out, tokens_cached, partial, requests } = counts;
      const figures = [cost, currency, tokens_in, tokens_out, tokens_cached, partial, requests] as const;
      add.run(adapter_id, model, basis, ...figures, sessionId);
    },
    page({ after, since, limit }) {
      const begin = first.get(since) as { first_gseq: number } | undefined;
      if (begin === undefined) return [];
      return page.all(Math.max(after, begin.first_gseq - 1), limit) as SpentRecord[];
    },
    forget: (sessionId) => void forget.run(sessionId),
  };
}
