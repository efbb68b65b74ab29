import type { Follows } from "../../../../plugin-sdk/envelope.ts";
import type { SessionRequest } from "../../../../plugin-sdk/request.ts";
import type { SessionResult } from "../../../../plugin-sdk/result.ts";
import { type FolderState, workedIn, type Workspace } from "../../../../plugin-sdk/workspace.ts";
import { defaultKeepMs, type HostManifest } from "../../../ground/config/host-manifest.ts";
import { type CopiedData, measureCopied } from "../../../records/git/copied-data.ts";
import { readFolderState } from "../../../records/git/folder-state.ts";
import type { SharedLooks } from "../../../records/git/shared-looks.ts";
import { findTurnTree } from "../../../records/checkpoints/turn-tree.ts";
import type { ApplyChoice, ApplyPatchOptions, Workspaces } from "../../../records/workspace/workspaces.ts";
import type { SessionPlace } from "../../session/admitted.ts";
import { hasNoTurn } from "../talk/empty-session.ts";

export type { ApplyChoice };

/** Operations of a client on the worktrees of sessions, and on changes that wait for a person's word. */
export interface HostWorkspaces
  extends Pick<Workspaces, "list" | "diff" | "apply" | "discard" | "held" | "settleHeld"> {
  /**
   * Tells what a folder has checked out, which a session could work in.
   * @throws {BulkheadError} as `checkWorkdir`; `git_missing`, `timeout`, `io_error`
   */
  folderState(workdir: string): Promise<FolderState>;
  /** Removes older worktrees; default: older than the host manifest's limit. */
  prune(options?: { olderThanMs?: number }): ReturnType<Workspaces["prune"]>;
}

/** The worktrees of one host, beside others of a cluster. */
export interface OwnWorkspaces extends HostWorkspaces {
  /**
   * Applies changes of a session of another host to the repository at that path of this machine.
   * @throws {BulkheadError} as `apply`; `invalid_request` where there is no such folder, or no session may work in it
   */
  applyPatch(
    sessionId: string,
    options: { workdir: string; patch: Uint8Array } & ApplyChoice,
  ): ReturnType<Workspaces["apply"]>;
}

interface HostWorkspacesDeps {
  manifest(): HostManifest | undefined;
  left(sessionId: string): Promise<void>;
  endKept(worktree: Workspace): Promise<void>;
  /**
   * Checks a folder in which changes are wanted; returns its real path and the paths that are not copied.
   * @throws {BulkheadError} as `checkWorkdir`
   */
  placeOf(workdir: string): Promise<Pick<ApplyPatchOptions, "workdir" | "exclude">>;
  looks: SharedLooks;
}

/**
 * Opens the worktrees of sessions to clients. `left` resolves when an ended session has left its worktree, `endKept` when
 * the one that is kept in it has: a decision on its changes ends it.
 */
export function hostWorkspaces(
  workspaces: Workspaces,
  { manifest, left, endKept, placeOf, looks }: HostWorkspacesDeps,
): OwnWorkspaces {
  const { list, diff, apply, discard, held, settleHeld } = workspaces;
  const free = async (sessionId: string) => {
    await left(sessionId);
    const worktree = (await list()).find((one) => one.running && workedIn(one, sessionId));
    if (worktree !== undefined) await endKept(worktree);
  };
  return {
    list,
    async folderState(wanted) {
      const { workdir, exclude } = await placeOf(wanted);
      return await readFolderState(workdir, { looks, exclude });
    },
    diff,
    held,
    settleHeld: async (sessionId, decision) => {
      await left(sessionId);
      return await settleHeld(sessionId, decision);
    },
    apply: async (sessionId, options) => {
      await free(sessionId);
      return await apply(sessionId, options);
    },
    applyPatch: async (sessionId, { workdir, ...options }) => {
      return await workspaces.applyPatch(sessionId, { ...options, ...await placeOf(workdir) });
    },
    discard: async (sessionId) => {
      await free(sessionId);
      await discard(sessionId);
    },
    prune: ({ olderThanMs = keepMs(manifest()) } = {}) => workspaces.prune({ olderThanMs }),
  };
}

/** Options of {@link placeSession}. */
export interface PlaceOptions {
  sessionId: string;
  request: SessionRequest;
  /** The session before it, in whose worktree it goes on, where that is of its conversation and waits for a decision. */
  follows?: Follows | null;
  /** The session in whose worktree it goes on, instead of the one before it. */
  placeOf?: string | undefined;
  /** The turn whose files a new worktree begins with. */
  filesOf?: Parameters<typeof findTurnTree>[0] | undefined;
  /** Real absolute path of the requested working directory. */
  workdir: string;
  /** Real absolute paths that the worktree does not copy. */
  exclude: readonly string[];
  manifest: HostManifest | undefined;
  signal?: AbortSignal | undefined;
  /** Called for a worktree that stays taken until this process ends. */
  onProblem?: (message: string) => void;
  /** Told before large data is copied. */
  onCopy?: (data: CopiedData) => void;
}

/**
 * Places a session in its working directory or in a new worktree. Removes expired worktrees first.
 * @throws {BulkheadError} `invalid_request`, `unsupported`, `git_missing`, `timeout`, `io_error`
 */
export async function placeSession(workspaces: Workspaces, options: PlaceOptions): Promise<SessionPlace> {
  const { sessionId, request, workdir, exclude, manifest, signal, onProblem = () => {}, onCopy = () => {} } = options;
  const { follows = null, filesOf, placeOf } = options;
  if (request.workspace !== "worktree") {
    const nothing = () => Promise.resolve();
    return {
      workdir,
      workspaceDir: undefined,
      copied: null,
      noteHeld: null,
      reset: null,
      leave: (result) => result,
      abandon: nothing,
    };
  }
  await workspaces.prune({ olderThanMs: keepMs(manifest) });
  const before = placeOf ?? (follows?.why === "fork" ? undefined : follows?.session_id);
  const earlier = before === undefined ? null : await workspaces.goOn({ follows: before, sessionId, workdir });
  const turn = filesOf === undefined ? undefined : await findTurnTree(filesOf);
  const large = earlier === null ? await measureCopied(workdir, signal ?? new AbortController().signal) : null;
  if (large !== null) onCopy(large);
  const opened = earlier ?? await workspaces.open({ sessionId, workdir, exclude, signal, turn });
  const end = () =>
    workspaces.end(sessionId).catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error);
      onProblem(`The worktree of session ${sessionId} stays taken until this host ends: ${why}`);
    });
  const abandon = async () => {
    await end();
    if (earlier === null) await workspaces.discard(sessionId).catch(() => undefined);
  };
  return {
    workdir: opened.workdir,
    workspaceDir: opened.folder,
    copied: large === null ? null : { files: large.files, bytes: large.bytes },
    noteHeld: () => workspaces.noteHeld(sessionId),
    // What the sessions before it did is no part of the base.
    reset: earlier === null ? () => workspaces.reset(sessionId) : null,
    leave: async (result) => {
      try {
        const ended = await result;
        await end();
        // A worktree that cannot be looked at waits for a decision, as a changed one does.
        if (!hasNoTurn(request, follows) && mayBeUntouched(ended)) {
          await workspaces.discardUnchanged(sessionId).catch(() => undefined);
        }
        return ended;
      } catch (error) {
        await end();
        throw error;
      }
    },
    abandon,
  };
}

/** False when the session made a commit, or changed files of its working directory. */
function mayBeUntouched({ artifacts, artifacts_omitted = 0, provenance }: SessionResult): boolean {
  return artifacts?.length === 0 && artifacts_omitted === 0 && provenance.git_base === provenance.git_head;
}

function keepMs(manifest: HostManifest | undefined): number {
  return manifest?.workspaces?.keep_ms ?? defaultKeepMs;
}
