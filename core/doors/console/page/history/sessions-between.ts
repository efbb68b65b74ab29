import type { SessionSummary } from "../../../../../plugin-sdk/session-summary.ts";
import type { HostApi } from "../api.ts";

/** Sessions of one answer, and those that are read at all. */
const pageSize = 500;
const mostSessions = 5000;

/** A stretch of time, and whose sessions count. */
interface Stretch {
  from: Date;
  to: Date;
  adapter?: string | undefined;
}

/** Reads the sessions that began in a stretch of time, and those that run since before, the newest first. */
export async function sessionsBetween(
  { from, to, adapter }: Stretch,
  { api, signal }: { api: HostApi; signal: AbortSignal },
): Promise<SessionSummary[]> {
  const since = from.toISOString();
  const all: SessionSummary[] = [];
  let before: string | undefined;
  while (all.length < mostSessions) {
    const query = { since, until: to.toISOString(), adapter, before, limit: pageSize };
    const page = await api.get<{ sessions: SessionSummary[]; next: string | null }>("/v1/sessions", query, signal);
    all.push(...page.sessions);
    if (page.next === null) break;
    before = page.next;
  }
  const older = { until: since, state: "running", adapter, limit: pageSize };
  const { sessions } = await api.get<{ sessions: SessionSummary[] }>("/v1/sessions", older, signal);
  return [...all, ...sessions];
}
