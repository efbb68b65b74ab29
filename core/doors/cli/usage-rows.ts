import { costKind, type UsageRow } from "../../../plugin-sdk/usage-row.ts";

/** Tokens and cost of one adapter on one day. */
export interface DayUsage {
  /** Day here, on which the sessions began: `2026-11-24`. */
  day: string;
  adapter_id: string;
  sessions: number;
  /** Sessions whose agent reported no usage; the totals leave them out. */
  unknown: number;
  /** Sessions whose agent counted a part of its usage: the totals are at least these. */
  partial: number;
  /** Requests to models that the host counted, since it holds the key; null where it does not. */
  requests: number | null;
  /** Null where no agent told them. */
  tokens_in: number | null;
  tokens_out: number | null;
  /** The part of `tokens_in` that came from a cache, as far as agents told it. */
  tokens_cached: number | null;
  /** Sessions whose cost is not known, whatever is known of their tokens. */
  no_cost: number;
  /** By currency; empty where no cost is known. */
  cost: Record<string, number>;
  /** Whether a part of the cost follows from prices, and was not told by the agent. */
  estimated: boolean;
}

/** Joins the rows of one day and adapter. */
export function addUsage(rows: readonly UsageRow[]): DayUsage[] {
  const days = new Map<string, DayUsage>();
  for (const row of rows) {
    const { day, adapter_id, sessions, tokens_in, tokens_out, cost, currency, basis } = row;
    const key = `${day} ${adapter_id}`;
    const sum = days.get(key) ?? { ...noUsage(), day, adapter_id };
    days.set(key, sum);
    sum.sessions += sessions;
    if (tokens_in === null && tokens_out === null && cost === null) sum.unknown += sessions;
    if (costKind(row) === "unknown") sum.no_cost += sessions;
    sum.partial += row.partial;
    addTold(sum, row);
    if (cost === null || currency === null) continue;
    sum.cost[currency] = (sum.cost[currency] ?? 0) + cost;
    sum.estimated ||= basis === "estimated";
  }
  return [...days.values()];
}

/** Adds the figures of which each may be unknown. */
export function addTold(sum: Told, more: Told): void {
  for (const name of ["requests", "tokens_in", "tokens_out", "tokens_cached"] as const) {
    if (more[name] !== null) sum[name] = (sum[name] ?? 0) + more[name];
  }
}

type Told = Pick<DayUsage, "requests" | "tokens_in" | "tokens_out" | "tokens_cached">;

/** Totals before anything is added to them. */
export function noUsage(): DayUsage {
  const untold = { requests: null, tokens_in: null, tokens_out: null, tokens_cached: null, cost: {}, estimated: false };
  return { day: "all", adapter_id: "", sessions: 0, unknown: 0, no_cost: 0, partial: 0, ...untold };
}
