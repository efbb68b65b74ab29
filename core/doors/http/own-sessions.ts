import { nullIfNotFound } from "../../ground/errors/to-error-data.ts";
import type { SessionCounts, SessionQuery } from "../../../plugin-sdk/queries.ts";
import type { SessionSummary } from "../../../plugin-sdk/session-summary.ts";
import { countSessions, fitsQuery } from "../../records/journal/session-groups.ts";
import type { SessionHost } from "../../sessions/host/session-host.ts";
import type { Caller } from "./scopes.ts";
import type { SessionOwners } from "./session-owners.ts";
import { unknownSession } from "./visible-sessions.ts";

/** A page of a list of sessions; `next` is the cursor where there may be more. */
export interface SessionPage {
  sessions: SessionSummary[];
  next: string | null;
}

interface OwnDeps {
  sessions: Pick<SessionHost, "get">;
  owners: SessionOwners;
}

/** Sessions that one request checks, at most. */
const mostLooked = 2000;

/**
 * Returns a page of the sessions that a caller started, the newest first; `next` is the cursor where there may be more.
 * @throws {BulkheadError} `not_found` when the caller did not start the last session of the page before
 */
export async function listOwn(
  caller: Caller,
  query: SessionQuery & { limit: number },
  { sessions, owners }: OwnDeps,
): Promise<SessionPage> {
  const own = owners.ownedBy(caller);
  const from = query.before === undefined ? 0 : own.indexOf(query.before) + 1;
  if (query.before !== undefined && from === 0) throw unknownSession(query.before);
  const page: SessionSummary[] = [];
  for (const id of own.slice(from, from + mostLooked)) {
    const summary = await sessions.get(id).catch(nullIfNotFound);
    if (summary !== null && fitsQuery(summary, query)) page.push(summary);
    if (page.length === query.limit) return { sessions: page, next: id };
  }
  return { sessions: page, next: own[from + mostLooked - 1] ?? null };
}

/** Counts the sessions that a caller started, of the newest that one request checks. */
export async function countOwn(caller: Caller, query: SessionQuery, deps: OwnDeps): Promise<SessionCounts> {
  const { text, since, until, task_id } = query;
  const { sessions } = await listOwn(caller, { text, since, until, task_id, limit: mostLooked }, deps);
  return countSessions(sessions, query);
}
