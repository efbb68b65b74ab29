import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { fieldsOrNone, parseJson, stringOf } from "../../../plugin-sdk/json-fields.ts";
import type { UsageQuery, UsageRow } from "../../../plugin-sdk/usage-row.ts";
import { nextTurn } from "../../ground/platform/engine/next-turn.ts";
import type { Journal } from "../../records/journal/journal.ts";
import type { SpentRecord } from "../../records/journal/spend-table.ts";
import { roundMoney } from "../session/spend/priced-usage.ts";

/** Pages of what sessions have used, from one journal. */
export type SpentPages = AsyncIterable<readonly SpentRecord[]>;

const dayMs = 86_400_000;
const defaultDays = 30;
/** Sessions that are read and added up in one turn: it takes a few milliseconds. */
const pageSize = 500;
/** Rows of one answer. Agents name their models themselves: beyond this, further models share a row without a name. */
const mostRows = 10_000;

/** Reads what the sessions of a journal have used since a time, page by page; other work has its turn in between. */
export async function* spentPages(journal: Pick<Journal, "spent">, since: string): SpentPages {
  for (let after = 0;;) {
    const page = await journal.spent({ after, since, limit: pageSize });
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    after = last.first_gseq;
    await nextTurn();
  }
}

/**
 * Adds up what sessions have used, the newest day first.
 * @param pages returns the pages of every journal since a time
 * @throws {BulkheadError} `invalid_request` for an unknown time zone; `journal_error`
 */
export async function addUpUsage(
  { days = defaultDays, adapter, time_zone = "UTC", label: labelName }: UsageQuery,
  pages: (since: string) => readonly SpentPages[],
): Promise<UsageRow[]> {
  const now = Date.now();
  const dayOf = dayIn(time_zone);
  const noon = Date.parse(`${dayOf(now)}T12:00:00Z`);
  const firstDay = new Date(noon - (days - 1) * dayMs).toISOString().slice(0, 10);
  const rows = new Map<string, UsageRow>();
  // A day here begins at most a day before or after the same day in UTC.
  for (const some of pages(new Date(noon - (days + 1) * dayMs).toISOString())) {
    for await (const page of some) {
      for (const one of page) {
        const day = dayOf(Date.parse(one.started_at));
        if (day >= firstDay && (adapter === undefined || one.adapter_id === adapter)) {
          add(rows, labelName === undefined ? { day } : { day, label: labelIn(one, labelName) }, one);
        }
      }
    }
  }
  return [...rows.values()].sort(compare);
}

/** The fields of a row that are neither figures nor names of the agent. */
type RowPlace = Pick<UsageRow, "day" | "label">;

function labelIn({ labels }: SpentRecord, name: string): string | null {
  return stringOf(fieldsOrNone(parseJson(labels))[name]);
}

function add(rows: Map<string, UsageRow>, place: RowPlace, spent: SpentRecord): void {
  const row = rowOf(rows, place, spent);
  row.sessions++;
  row.partial += spent.partial;
  for (const name of ["tokens_in", "tokens_out", "tokens_cached", "requests"] as const) {
    if (row[name] !== null) row[name] += spent[name] ?? 0;
  }
  if (row.cost !== null) row.cost = roundMoney(row.cost + (spent.cost ?? 0));
}

function rowOf(rows: Map<string, UsageRow>, place: RowPlace, spent: SpentRecord): UsageRow {
  const { adapter_id, basis, currency, cost, tokens_in, tokens_out, tokens_cached, requests } = spent;
  const known = [cost, tokens_in, tokens_out, tokens_cached, requests].map((figure) => figure !== null);
  const keyOf = (model: string | null) => JSON.stringify([place, adapter_id, model, basis, currency, ...known]);
  const isFull = rows.size >= mostRows && !rows.has(keyOf(spent.model));
  const model = isFull ? null : spent.model;
  const found = rows.get(keyOf(model));
  if (found !== undefined) return found;
  const none = (figure: number | null) => figure === null ? null : 0;
  const row: UsageRow = {
    ...place,
    adapter_id,
    model,
    basis,
    currency,
    cost: none(cost),
    tokens_in: none(tokens_in),
    tokens_out: none(tokens_out),
    tokens_cached: none(tokens_cached),
    sessions: 0,
    partial: 0,
    requests: none(requests),
  };
  rows.set(keyOf(model), row);
  return row;
}

/**
 * Returns a function that names the day of a time. A time zone's day begins on a quarter of an hour of UTC, so that few
 * times need to be looked up.
 */
function dayIn(timeZone: string): (time: number) => string {
  const format = formatIn(timeZone);
  const known = new Map<number, string>();
  return (time) => {
    const quarter = Math.floor(time / 900_000);
    if (Number.isNaN(quarter)) return "";
    const day = known.get(quarter) ?? format.format(quarter * 900_000);
    known.set(quarter, day);
    return day;
  };
}

function formatIn(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat("en-CA", { timeZone, year: "numeric", month: "2-digit", day: "2-digit" });
  } catch {
    throw new BulkheadError("invalid_request", `Cannot add up usage: there is no time zone "${timeZone}".`, {
      hint: "Give the name of one, such as Europe/Vienna.",
      details: { path: "time_zone" },
    });
  }
}

function compare(one: UsageRow, other: UsageRow): number {
  return other.day.localeCompare(one.day) || one.adapter_id.localeCompare(other.adapter_id) ||
    (one.model ?? "").localeCompare(other.model ?? "") || one.basis.localeCompare(other.basis);
}
