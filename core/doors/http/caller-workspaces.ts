import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { workedIn } from "../../../plugin-sdk/workspace.ts";
import type { HostWorkspaces } from "../../sessions/host/state/workspaces.ts";
import { isInside } from "../../ground/platform/files/paths.ts";
import { admitSession } from "./caller-sessions.ts";
import { type Caller, demandScope } from "./scopes.ts";
import type { SessionOwners } from "./session-owners.ts";
import { demandControl, demandSight, sees } from "./visible-sessions.ts";

interface CallerWorkspacesDeps {
  workspaces: HostWorkspaces;
  owners: SessionOwners;
}

/** Restricts worktrees to what one caller may see and control, by the same rule as for sessions. */
export function callerWorkspaces(caller: Caller, { workspaces, owners }: CallerWorkspacesDeps): HostWorkspaces {
  return {
    async list() {
      return (await workspaces.list()).filter(({ session_id }) => sees(caller, session_id, owners));
    },
    async folderState(wanted) {
      const { workdir } = await admitSession(caller, { workdir: wanted, prompt: "" });
      return await workspaces.folderState(workdir);
    },
    async diff(sessionId, choice) {
      demandSight(caller, sessionId, owners);
      return await workspaces.diff(sessionId, choice);
    },
    async apply(sessionId, options) {
      demandControl(caller, sessionId, owners);
      await demandRepository(caller, sessionId, workspaces);
      return await workspaces.apply(sessionId, options);
    },
    async held() {
      return (await workspaces.held()).filter(({ session_id }) => sees(caller, session_id, owners));
    },
    async settleHeld(sessionId, decision) {
      demandControl(caller, sessionId, owners);
      await demandFolder(caller, sessionId, workspaces);
      return await workspaces.settleHeld(sessionId, decision);
    },
    async discard(sessionId) {
      demandControl(caller, sessionId, owners);
      await workspaces.discard(sessionId);
    },
    async prune(options) {
      demandScope(caller, { needed: ["admin"], act: "remove the worktrees of others" });
      return await workspaces.prune(options);
    },
  };
}

/** Checks the folder that held changes are in, and for those in a worktree the repository that they may come to. */
async function demandFolder(
  caller: Caller,
  sessionId: string,
  workspaces: Pick<HostWorkspaces, "list" | "held">,
): Promise<void> {
  const { workdirs } = caller;
  if (workdirs === undefined) return;
  const found = (await workspaces.held()).find(({ session_id }) => session_id === sessionId);
  if (found?.place === "inplace" && workdirs.some((folder) => isInside(folder, found.folder))) return;
  await demandRepository(caller, sessionId, workspaces);
}

/**
 * Checks the whole repository: a worktree holds all of it, even if the session was started in one folder.
 * @throws {BulkheadError} `forbidden` for a repository that reaches beyond the folders of the token
 */
async function demandRepository(
  { workdirs }: Caller,
  sessionId: string,
  workspaces: Pick<HostWorkspaces, "list">,
): Promise<void> {
  if (workdirs === undefined) return;
  const found = (await workspaces.list()).find((one) => workedIn(one, sessionId));
  if (found !== undefined && workdirs.some((folder) => isInside(folder, found.repository))) return;
  throw new BulkheadError("forbidden", "The token does not allow it: change a repository beyond its folders.", {
    hint: `Its folders are ${workdirs.join(", ")}; the repository is ${
      found?.repository ?? "on a machine that is away"
    }.`,
    details: { workdirs: [...workdirs] },
  });
}
