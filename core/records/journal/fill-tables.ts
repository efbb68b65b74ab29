import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { SqliteFile } from "../../ground/platform/state/sqlite.ts";
import { chainOrigin, linkOfRow, nextPlace } from "./chain.ts";
import { readChained, rowColumns } from "./chain-table.ts";
import { asBytes, lenientText, strictText } from "./damage.ts";
import { factOf, mayHoldFacts } from "./history-fact.ts";
import { prepareHistoryTable } from "./history-table.ts";
import { envelopesAfter } from "./journal-row.ts";
import { endingOf, openingOf } from "./session-record.ts";
import { prepareSpendTable, spentOf } from "./spend-table.ts";
import { prepareSessionNotes } from "./session-table.ts";

interface FirstAndLast {
  session_id: string;
  first_gseq: number;
  last_gseq: number;
  last_seq: number;
}

/** Fills the table of sessions from the events, for a journal older than this table. */
export function fillSessionTable(database: SqliteFile): void {
  const sessions = database.prepare(
    `SELECT session_id, min(first_gseq) AS first_gseq, max(last_gseq) AS last_gseq, max(last_seq) AS last_seq
      FROM batch GROUP BY session_id ORDER BY 2`,
  ).all() as FirstAndLast[];
  const body = database.prepare(
    `SELECT ${asBytes("body")} FROM batch WHERE session_id = ? AND last_gseq >= ? ORDER BY last_gseq LIMIT 1`,
  );
  const table = prepareSessionNotes(database, { isNewest: false });
  const bodyFrom = (sessionId: string, gseq: number): unknown =>
    (body.get(sessionId, gseq) as Record<string, unknown>)["body"];
  for (const { session_id, first_gseq, last_gseq, last_seq } of sessions) {
    const first = readBody(bodyFrom(session_id, first_gseq))[0];
    const last = readBody(bodyFrom(session_id, last_gseq)).at(-1);
    table.note({
      session_id,
      first_gseq,
      last_gseq,
      first_seq: first?.seq ?? 1,
      last_seq,
      count: 0,
      opening: first === undefined
        ? {
          workdir: "",
          title: "",
          task_id: null,
          labels: {},
          started_at: last?.ts ?? new Date(0).toISOString(),
          conversation_id: session_id,
          follows_session: null,
          last_turn: 1,
        }
        : openingOf(first),
      adapter_id: last?.adapter.id ?? null,
      turn: null,
      ending: last === undefined ? null : endingOf(last),
      spent: null,
      facts: [],
      body: "",
    });
  }
}

/** Fills the tables of attempts, programs and grants from the events, for a journal older than these tables. */
export function fillHistoryTables(database: SqliteFile): void {
  const table = prepareHistoryTable(database);
  const next = database.prepare(
    `SELECT last_gseq, ${asBytes("session_id", "body")} FROM batch WHERE last_gseq > ?
      AND session_id NOT IN (SELECT session_id FROM session WHERE deleted_at IS NOT NULL) ORDER BY last_gseq LIMIT 1`,
  );
  for (let after = 0;;) {
    const row = next.get(after) as Record<"last_gseq" | "session_id" | "body", unknown> | undefined;
    if (row === undefined) break;
    after = row.last_gseq as number;
    const sessionId = lenientText(row.session_id)!;
    if (!mayHoldFacts(lenientText(row.body)!)) continue;
    for (const envelope of readBody(row.body)) {
      const fact = factOf(envelope);
      if (fact !== null) table.note(sessionId, fact);
    }
  }
  // Before there was a table of attempts, the table of sessions had the adapter of the last event.
  database.exec(
    `UPDATE session SET adapter_id = (SELECT attempt.adapter_id FROM attempt WHERE attempt.session = first_gseq
      ORDER BY attempt DESC LIMIT 1) WHERE state = 0`,
  );
}

/** Fills the table of what sessions have used from their last events, for a journal older than this table. */
export function fillSpendTable(database: SqliteFile): void {
  const table = prepareSpendTable(database);
  const next = database.prepare(
    `SELECT session.last_gseq, session.session_id, ${asBytes("body")} FROM session
      JOIN batch ON batch.last_gseq = session.last_gseq
      WHERE ended_at IS NOT NULL AND deleted_at IS NULL AND session.last_gseq > ? ORDER BY session.last_gseq LIMIT 1`,
  );
  for (let after = 0;;) {
    const row = next.get(after) as Record<"last_gseq" | "session_id" | "body", unknown> | undefined;
    if (row === undefined) return;
    after = row.last_gseq as number;
    const last = readBody(row.body).at(-1);
    const spent = last === undefined ? null : spentOf(last);
    if (spent !== null) table.note(row.session_id as string, spent);
  }
}

/** A damaged body must not stop the migration: its readers get the error. */
function readBody(body: unknown): Envelope[] {
  try {
    return envelopesAfter(strictText(body), 0);
  } catch {
    return [];
  }
}

/** Chains all existing batches, for a journal older than the chain. */
export function chainRows(database: SqliteFile, key: Uint8Array): void {
  const next = database.prepare(`SELECT ${rowColumns} FROM batch WHERE last_gseq > ? ORDER BY last_gseq LIMIT 1`);
  const write = database.prepare("UPDATE batch SET number = ?, mac = ? WHERE last_gseq = ?");
  let place = chainOrigin;
  for (let after = 0;;) {
    const found = next.get(after);
    if (found === undefined) break;
    const row = readChained(found);
    place = nextPlace(key, place, linkOfRow(row));
    write.run(place.number, place.mac, after = row.last_gseq);
  }
  database.prepare("UPDATE state SET head_number = ?, head_mac = ?").run(place.number, place.mac);
}
