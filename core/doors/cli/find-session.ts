import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { SessionSummary } from "../../../plugin-sdk/session-summary.ts";
import type { SessionHost } from "../../sessions/host/session-host.ts";
import { shortId } from "../../ground/log/short-id.ts";
import type { HostWorkspaces } from "../../sessions/host/state/workspaces.ts";
import { workedIn, type Workspace } from "../../../plugin-sdk/workspace.ts";

/** Sessions of one page, and pages to search for the beginning of an id. */
const pageSize = 500;
const mostPages = 20;

/**
 * Returns the session that a person names: by its id, or by enough of its first characters to tell it apart from the
 * newest ten thousand.
 * @throws {BulkheadError} `not_found`, `invalid_request` for a beginning that several ids share
 */
export async function findSession(sessions: SessionHost, typed: string): Promise<SessionSummary> {
  const whole = await sessions.get(typed).catch((error: unknown) => {
    if (error instanceof BulkheadError && (error.code === "not_found" || error.code === "invalid_request")) return null;
    throw error;
  });
  if (whole !== null) return whole;
  const found = typed === ""
    ? []
    : await beginningWith<SessionSummary>(typed, (page) => sessions.list({ ...page, before: page.before?.session_id }));
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  if (found.length > 1) throw ambiguousId(typed, found.map(({ session_id }) => session_id));
  throw new BulkheadError("not_found", `There is no session "${typed}".`, {
    hint: '"bulkhead session list" shows those there are.',
  });
}

/** Lists those of the newest ten thousand sessions whose ids begin as typed. */
export async function beginningWith<T extends { session_id: string }>(
  typed: string,
  list: (page: { limit: number; before: T | undefined }) => Promise<readonly T[]>,
): Promise<T[]> {
  const found: T[] = [];
  let before: T | undefined;
  for (let page = 0; page < mostPages; page++) {
    const rows = await list({ limit: pageSize, before });
    found.push(...rows.filter(({ session_id }) => session_id.startsWith(typed)));
    before = rows.at(-1);
    if (rows.length < pageSize || before === undefined) break;
  }
  return found;
}

/**
 * Returns the workspace that a person names: by its session's id, or by enough of its first characters to be unique.
 * @throws {BulkheadError} `not_found`, `invalid_request` for a beginning that several ids share
 */
export async function findWorkspace(workspaces: Pick<HostWorkspaces, "list">, typed: string): Promise<Workspace> {
  const all = await workspaces.list();
  const whole = all.find((one) => workedIn(one, typed));
  if (whole !== undefined) return whole;
  const found = typed === ""
    ? []
    : all.filter(({ session_id, later_sessions = [] }) =>
      [session_id, ...later_sessions].some((id) => id.startsWith(typed))
    );
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  if (found.length > 1) throw ambiguousId(typed, found.map(({ session_id }) => session_id));
  throw new BulkheadError("not_found", `No session "${typed}" has a workspace.`, {
    hint: '"bulkhead session list --worktrees" shows those that have.',
  });
}

/** Error for the beginning of an id that several sessions share: names them with as much as tells them apart. */
export function ambiguousId(typed: string, ids: readonly string[]): BulkheadError {
  let length = Math.max(8, typed.length + 1);
  while (length < 32 && new Set(ids.map((id) => id.slice(0, length))).size < ids.length) length += 1;
  const shown = ids.slice(0, mostShown).map((id) => shortId(id, length)).join(", ");
  const more = ids.length > mostShown ? `, and ${ids.length - mostShown} more` : "";
  return new BulkheadError("invalid_request", `"${typed}" begins the ids of ${ids.length} sessions.`, {
    hint: `Type more of it: ${shown}${more}.`,
    details: { session_ids: [...ids] },
  });
}

const mostShown = 5;
