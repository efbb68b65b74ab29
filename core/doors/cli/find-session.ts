import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { SessionSummary } from "../../../plugin-sdk/session-summary.ts";
import type { SessionHost } from "../../sessions/host/session-host.ts";
import { ambiguousId } from "./render/short-id.ts";
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
  const found = typed === "" ? [] : await beginningWith(sessions, typed);
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  if (found.length > 1) throw ambiguousId(typed, found.map(({ session_id }) => session_id));
  throw new BulkheadError("not_found", `There is no session "${typed}".`, {
    hint: '"bulkhead session list" shows those there are.',
  });
}

async function beginningWith(sessions: SessionHost, typed: string): Promise<SessionSummary[]> {
  const found: SessionSummary[] = [];
  let before: string | undefined;
  for (let page = 0; page < mostPages; page++) {
    const rows = await sessions.list({ limit: pageSize, before });
    found.push(...rows.filter(({ session_id }) => session_id.startsWith(typed)));
    before = rows.at(-1)?.session_id;
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
