import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { HostWorkspaces } from "../../sessions/host/workspaces.ts";
import type { Workspace } from "../../../plugin-sdk/workspace.ts";
import { ambiguousId } from "./render/short-id.ts";

/**
 * Returns the workspace that a person names: by its session's id, or by enough of its first characters to be unique.
 * @throws {BulkheadError} `not_found`, `invalid_request` for a beginning that several ids share
 */
export async function findWorkspace(workspaces: Pick<HostWorkspaces, "list">, typed: string): Promise<Workspace> {
  const all = await workspaces.list();
  const whole = all.find(({ session_id }) => session_id === typed);
  if (whole !== undefined) return whole;
  const found = typed === "" ? [] : all.filter(({ session_id }) => session_id.startsWith(typed));
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  if (found.length > 1) throw ambiguousId(typed, found.map(({ session_id }) => session_id));
  throw new BulkheadError("not_found", `No session "${typed}" has a workspace.`, {
    hint: '"bulkhead session list --worktrees" shows those that have.',
  });
}
