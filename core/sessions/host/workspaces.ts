import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import { defaultKeepMs, type HostManifest } from "../../ground/config/host-manifest.ts";
import type { Workspaces } from "../../records/workspace/workspaces.ts";

/** What a client of the host may do with the worktrees of sessions. */
export interface HostWorkspaces extends Pick<Workspaces, "list" | "diff" | "apply" | "discard"> {
  /** Removes those that are older; default: than the host manifest keeps them. */
  prune(options?: { olderThanMs?: number }): ReturnType<Workspaces["prune"]>;
}

/**
 * The door to the worktrees of sessions. Whoever has seen a session's last event may decide over its worktree: `left`
 * resolves when such a session has left it.
 */
export function hostWorkspaces(
  workspaces: Workspaces,
  { manifest, left }: { manifest(): HostManifest | undefined; left(sessionId: string): Promise<void> },
): HostWorkspaces {
  const { list, diff, apply, discard } = workspaces;
  return {
    list,
    diff,
    apply: async (sessionId, options) => {
      await left(sessionId);
      return await apply(sessionId, options);
    },
    discard: async (sessionId) => {
      await left(sessionId);
      await discard(sessionId);
    },
    prune: ({ olderThanMs = keepMs(manifest()) } = {}) => workspaces.prune({ olderThanMs }),
  };
}

/** Where a session works. */
export interface SessionPlace {
  /** Real absolute path of the folder that the agent works in. */
  workdir: string;
  /** Top of the session's worktree; undefined when it works in place. */
  workspaceDir: string | undefined;
  /** Puts a worktree back to its base, for another attempt; null when the session works in place. */
  reset: (() => Promise<void>) | null;
  /**
   * The result once the place is left as well: a worktree in which nothing was changed is removed, any other waits for
   * somebody to decide.
   */
  leave(result: Promise<SessionResult>): Promise<SessionResult>;
  /** To be called when the session does not start after all: nothing of the place is left. Never rejects. */
  abandon(): Promise<void>;
}

/** What {@link placeSession} is told. */
export interface PlaceOptions {
  sessionId: string;
  request: SessionRequest;
  /** Real absolute path of the requested working directory. */
  workdir: string;
  /** Real absolute paths that are not copied. */
  exclude: readonly string[];
  manifest: HostManifest | undefined;
  signal?: AbortSignal;
}

/**
 * Where a session works: in place, or in a worktree that is made for it. Worktrees that are past their age go first.
 * @throws {BulkheadError} `invalid_request`, `unsupported`, `git_missing`, `timeout`, `io_error`
 */
export async function placeSession(workspaces: Workspaces, options: PlaceOptions): Promise<SessionPlace> {
  const { sessionId, request, workdir, exclude, manifest, signal } = options;
  if (request.workspace !== "worktree") {
    const nothing = () => Promise.resolve();
    return { workdir, workspaceDir: undefined, reset: null, leave: (result) => result, abandon: nothing };
  }
  await workspaces.prune({ olderThanMs: keepMs(manifest) });
  const opened = await workspaces.open({ sessionId, workdir, exclude, signal });
  // A record that cannot be written is freed with the process.
  const end = () => workspaces.end(sessionId).catch(() => undefined);
  const abandon = async () => {
    await end();
    await workspaces.discard(sessionId).catch(() => undefined);
  };
  return {
    workdir: opened.workdir,
    workspaceDir: opened.folder,
    reset: () => workspaces.reset(sessionId),
    leave: async (result) => {
      try {
        const ended = await result;
        await (isUntouched(ended) ? abandon() : end());
        return ended;
      } catch (error) {
        await end();
        throw error;
      }
    },
    abandon,
  };
}

/** No file differs, and no commit was made. */
function isUntouched({ artifacts, provenance }: SessionResult): boolean {
  return artifacts?.length === 0 && provenance.git_base === provenance.git_head;
}

function keepMs(manifest: HostManifest | undefined): number {
  return manifest?.workspaces?.keep_ms ?? defaultKeepMs;
}
