import type { UsageReport } from "../../../plugin-sdk/result.ts";
import type { SessionSummary } from "../../../plugin-sdk/session-summary.ts";
import type { SessionHost } from "../../sessions/host/session-host.ts";

/** Tokens and cost of one adapter on one day. */
export interface UsageRow {
  /** Day here, on which the sessions began: `2026-11-24`. */
  day: string;
  adapter_id: string;
  sessions: number;
  /** Sessions whose agent reported no usage; the totals leave them out. */
  unknown: number;
  tokens_in: number;
  tokens_out: number;
  /** By currency; empty where no cost is known. */
  cost: Record<string, number>;
  /** Whether a part of the cost follows from prices, and was not told by the agent. */
  estimated: boolean;
}

type UsedSession = Pick<SessionSummary, "started_at" | "adapter_id"> & { usage: UsageReport };

interface UsedSessionsOptions {
  /** Sessions that began before this are left out. Milliseconds since 1970. */
  since: number;
  adapter?: string | undefined;
}

const pageSize = 500;
/** Results that are asked for at once. */
const atOnce = 16;

/** Reads what the sessions since a time have used, page by page, the newest first. */
export async function* usedSessions(
  sessions: Pick<SessionHost, "list" | "open">,
  { since, adapter }: UsedSessionsOptions,
): AsyncGenerator<UsedSession[], void, void> {
  let before: string | undefined;
  for (;;) {
    const page = await sessions.list({ state: "ended", adapter, before, limit: pageSize });
    const recent = page.filter(({ started_at }) => Date.parse(started_at) >= since);
    for (let at = 0; at < recent.length; at += atOnce) {
      yield await Promise.all(recent.slice(at, at + atOnce).map((one) => usageOf(sessions, one)));
    }
    before = page.at(-1)?.session_id;
    if (page.length < pageSize || recent.length < page.length) return;
  }
}

/** Adds sessions to the rows of their day and adapter. */
export function addUsage(rows: Map<string, UsageRow>, used: readonly UsedSession[]): void {
  for (const { started_at, adapter_id, usage } of used) {
    const row = rowOf(rows, { day: dayOf(started_at), adapter_id: adapter_id ?? "none" });
    const { tokens_in, tokens_out, cost, currency, basis } = usage;
    row.sessions++;
    if (tokens_in === null && tokens_out === null && cost === null) row.unknown++;
    row.tokens_in += tokens_in ?? 0;
    row.tokens_out += tokens_out ?? 0;
    if (cost === null || currency === null) continue;
    row.cost[currency] = (row.cost[currency] ?? 0) + cost;
    row.estimated ||= basis === "estimated";
  }
}

async function usageOf(
  sessions: Pick<SessionHost, "open">,
  { session_id, ...summary }: SessionSummary,
): Promise<UsedSession> {
  const { usage } = await (await sessions.open(session_id)).result();
  return { ...summary, usage };
}

function rowOf(rows: Map<string, UsageRow>, named: Pick<UsageRow, "day" | "adapter_id">): UsageRow {
  const key = `${named.day} ${named.adapter_id}`;
  const known = rows.get(key);
  if (known !== undefined) return known;
  const row = { ...named, sessions: 0, unknown: 0, tokens_in: 0, tokens_out: 0, cost: {}, estimated: false };
  rows.set(key, row);
  return row;
}

function dayOf(timestamp: string): string {
  const time = new Date(timestamp);
  return [time.getFullYear(), time.getMonth() + 1, time.getDate()].map((part) => String(part).padStart(2, "0")).join(
    "-",
  );
}
