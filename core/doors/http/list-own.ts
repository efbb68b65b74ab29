import { errorDataOf } from "../../../plugin-sdk/errors.ts";
import type { SessionSummary } from "../../../plugin-sdk/session-summary.ts";
import type { SessionHost, SessionQuery } from "../../sessions/host/session-host.ts";
import type { Caller } from "./scopes.ts";
import type { SessionOwners } from "./session-owners.ts";
import { unknownSession } from "./visible-sessions.ts";

/** Sessions that one request checks, at most. */
const mostLooked = 2000;

/**
 * Returns a page of the sessions that a caller started, the newest first; `next` is the cursor where there may be more.
 * @throws {BulkheadError} `not_found` when the caller did not start the last session of the page before
 */
export async function listOwn(
  caller: Caller,
  query: SessionQuery & { limit: number },
  { sessions, owners }: { sessions: Pick<SessionHost, "get">; owners: SessionOwners },
): Promise<{ sessions: SessionSummary[]; next: string | null }> {
  const own = owners.ownedBy(caller);
  const from = query.before === undefined ? 0 : own.indexOf(query.before) + 1;
  if (query.before !== undefined && from === 0) throw unknownSession(query.before);
  const page: SessionSummary[] = [];
  for (const id of own.slice(from, from + mostLooked)) {
    const summary = await sessions.get(id).catch(nullWhereGone);
    if (summary !== null && fits(summary, query)) page.push(summary);
    if (page.length === query.limit) return { sessions: page, next: id };
  }
  return { sessions: page, next: own[from + mostLooked - 1] ?? null };
}

function nullWhereGone(error: unknown): null {
  if (errorDataOf(error)?.code === "not_found") return null;
  throw error;
}

function fits(summary: SessionSummary, { state, outcome, adapter, task_id, labels = {} }: SessionQuery): boolean {
  const same = <T>(wanted: T | undefined, value: T | null) => wanted === undefined || wanted === value;
  return same(state, summary.state) && same(outcome, summary.outcome) && same(adapter, summary.adapter_id) &&
    same(task_id, summary.task_id) &&
    Object.entries(labels).every(([name, value]) =>
      Object.hasOwn(summary.labels, name) && summary.labels[name] === value
    );
}
