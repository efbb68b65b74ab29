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
  tokens_in: number;
  tokens_out: number;
  /** The part of `tokens_in` that came from a cache, as far as agents told it. */
  tokens_cached: number;
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
    const { day, adapter_id, sessions, tokens_in, tokens_out, tokens_cached, cost, currency, basis, requests } = row;
    const key = `${day} ${adapter_id}`;
    const sum = days.get(key) ?? { ...noUsage(), day, adapter_id };
    days.set(key, sum);
    sum.sessions += sessions;
    if (tokens_in === null && tokens_out === null && cost === null) sum.unknown += sessions;
    if (costKind(row) === "unknown") sum.no_cost += sessions;
    sum.partial += row.partial;
    if (requests !== null) sum.requests = (sum.requests ?? 0) + requests;
    sum.tokens_in += tokens_in ?? 0;
    sum.tokens_out += tokens_out ?? 0;
    sum.tokens_cached += tokens_cached ?? 0;
    if (cost === null || currency === null) continue;
    sum.cost[currency] = (sum.cost[currency] ?? 0) + cost;
    sum.estimated ||= basis === "estimated";
  }
  return [...days.values()];
}

/** Totals before anything is added to them. */
export function noUsage(): DayUsage {
  return {
    day: "all",
    adapter_id: "",
    sessions: 0,
    unknown: 0,
    no_cost: 0,
    partial: 0,
    requests: null,
    tokens_in: 0,
    tokens_out: 0,
    tokens_cached: 0,
    cost: {},
    estimated: false,
  };
}
