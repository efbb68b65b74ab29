import type { HeldDecision, SessionHeld, SettledHeld } from "../../../plugin-sdk/held.ts";
import type {
  AppliedWorkspace,
  FolderState,
  PruneReport,
  Workspace,
  WorktreeDiff,
} from "../../../plugin-sdk/workspace.ts";
import { type Api, call, callJson } from "./call-api.ts";

/** The worktrees of a host's sessions. */
export interface RemoteWorkspaces {
  list(): Promise<Workspace[]>;
  /** Tells what a folder has checked out, which the token's sessions could work in. */
  folderState(workdir: string): Promise<FolderState>;
  /** Returns a session's changes. */
  diff(sessionId: string): Promise<WorktreeDiff>;
  /** Applies a session's changes to the repository, all or none but for what is held, and removes its worktree. */
  apply(
    sessionId: string,
    options?: { allowLinks?: boolean | undefined; withHeld?: readonly string[] | undefined },
  ): Promise<AppliedWorkspace>;
  /** Lists the changes that wait for a person's word. */
  held(): Promise<SessionHeld[]>;
  /** Settles held changes of a session: all, or those of some paths. */
  settleHeld(sessionId: string, decision: HeldDecision): Promise<SettledHeld>;
  /** Removes a session's worktree with all its changes. */
  discard(sessionId: string): Promise<void>;
  /** Removes older worktrees; default age: the one in the host manifest. */
  prune(options?: { olderThanMs?: number }): Promise<PruneReport>;
}

/** The worktrees of a host; sends no request yet. */
export function remoteWorkspaces(api: Api): RemoteWorkspaces {
  const pathOf = (id: string, act: string) => `/v1/sessions/${encodeURIComponent(id)}/${act}`;
  return {
    list: async () => (await callJson<{ workspaces: Workspace[] }>(api, "/v1/workspaces")).workspaces,
    folderState: (workdir) => callJson(api, `/v1/folder?${new URLSearchParams({ workdir })}`),
    async diff(sessionId) {
      const { artifacts, held, patch, patch_base64 } = await callJson<ShownDiff>(api, pathOf(sessionId, "diff"));
      return {
        artifacts,
        held,
        patch: patch === undefined ? bytesOf(patch_base64 ?? "") : new TextEncoder().encode(patch),
      };
    },
    apply: (sessionId, { allowLinks = false, withHeld = [] } = {}) => {
      const query = new URLSearchParams(withHeld.map((path): [string, string] => ["with_held", path]));
      if (allowLinks) query.set("allow_links", "true");
      return callJson(api, `${pathOf(sessionId, "apply")}${query.size === 0 ? "" : `?${query}`}`, { method: "POST" });
    },
    held: async () => (await callJson<{ sessions: SessionHeld[] }>(api, "/v1/held")).sessions,
    settleHeld: (sessionId, decision) => callJson(api, pathOf(sessionId, "held"), { method: "POST", body: decision }),
    discard: async (sessionId) => void await call(api, pathOf(sessionId, "discard"), { method: "POST" }),
    prune: ({ olderThanMs } = {}) =>
      callJson(api, "/v1/workspaces/prune", { method: "POST", body: { older_than_ms: olderThanMs } }),
  };
}

/** The JSON form of a diff. */
interface ShownDiff extends Omit<WorktreeDiff, "patch"> {
  patch?: string;
  patch_base64?: string;
}

function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
}
