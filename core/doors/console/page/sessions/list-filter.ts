import { omitEmpty } from "../../../../../plugin-sdk/optional-fields.ts";
import type { SessionSummary } from "../../../../../plugin-sdk/session-summary.ts";
import { type Standing, standingOf } from "../session-list.ts";

/** Filters of the list of sessions; empty texts ask for nothing. */
export interface ListFilter {
  text: string;
  standing: Standing | null;
  adapter: string;
  folder: string;
  /** As `name=value`. */
  label: string;
  /** Days as `YYYY-MM-DD`, in the time of this place. */
  from: string;
  to: string;
}

/** Asks for all sessions. */
export const noFilter: ListFilter = { text: "", standing: null, adapter: "", folder: "", label: "", from: "", to: "" };

type Query = Record<string, string | number | boolean>;

/** States of a session that has ended, as the host finds them. */
const endedStates: Partial<Record<Standing, Query>> = {
  done: { outcome: "completed" },
  blocked: { outcome: "blocked" },
  failed: { outcome: "error", interrupted: false },
  stopped: { interrupted: true },
};

/** Returns what the host is asked for, without the state. */
function baseQuery({ text, adapter, folder, label, from, to }: ListFilter): Query {
  return omitEmpty({
    text: text.trim(),
    adapter,
    folder,
    label,
    since: from === "" ? "" : momentOf(from, 0),
    until: to === "" ? "" : momentOf(to, 1),
  }) as Query;
}

/** Returns what the host is asked to count: of running sessions it knows no state. */
export function countsQuery(filter: ListFilter): Query {
  const ofState = filter.standing === null ? {} : endedStates[filter.standing];
  const state: Query = filter.standing === null ? {} : { state: ofState === undefined ? "running" : "ended" };
  return { ...baseQuery(filter), ...state, ...ofState };
}

/** Returns what the host is asked to count of one day. */
export function dayQuery(filter: ListFilter, day: string): Query {
  return { ...countsQuery(filter), since: momentOf(day, 0), until: momentOf(day, 1) };
}

/** Returns what the host is asked for of running sessions; null where none is wanted. */
export function runningQuery(filter: ListFilter): Query | null {
  if (filter.standing !== null && endedStates[filter.standing] !== undefined) return null;
  return { ...baseQuery(filter), state: "running" };
}

/** Returns what the host is asked for of sessions that have ended; null where none is wanted. */
export function endedQuery(filter: ListFilter): Query | null {
  if (filter.standing === null) return { ...baseQuery(filter), state: "ended" };
  const wanted = endedStates[filter.standing];
  return wanted === undefined ? null : { ...baseQuery(filter), state: "ended", ...wanted };
}

/** Whether a running session has the state that is asked for: the host knows them as running only. */
export function hasStanding(session: SessionSummary, { standing }: ListFilter, queued: ReadonlySet<string>): boolean {
  return standing === null || standingOf(session, queued) === standing;
}

/** The moment at which a day of this place begins, or the one after it. */
function momentOf(day: string, later: number): string {
  const [year = 0, month = 1, date = 1] = day.split("-").map(Number);
  const at = new Date(year, month - 1, date + later);
  return Number.isNaN(at.getTime()) ? "" : at.toISOString();
}
