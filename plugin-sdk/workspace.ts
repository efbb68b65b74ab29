import type { ErrorData } from "./errors.ts";
import type { HeldChange } from "./held.ts";
import type { Artifact } from "./result.ts";

/**
 * State of a workspace: it is being made, its changes wait for a decision, they are being applied to the source, they
 * are applied, or they are gone.
 */
export type WorkspaceState = "opening" | "open" | "applying" | "applied" | "discarded";

/** Reason why a session's changes could not be applied when that was last tried. */
export interface WorkspaceConflict {
  /** Time of the try; RFC 3339, UTC. */
  at: string;
  message: string;
  hint: string | null;
  /** Paths that were changed in the source as well, relative to the top of the repository; at most 1000. */
  paths: string[];
}

/** A session's worktree, as clients see it. Paths are real and absolute. */
export interface Workspace {
  /** The session that it was made for. */
  session_id: string;
  /** Later sessions of the conversation that went on in it, the oldest first. Absent: none did. */
  later_sessions?: string[];
  state: WorkspaceState;
  /** The requested working directory of the session. */
  workdir: string;
  /** Top of the repository's work tree that contains it: the source. */
  repository: string;
  /** Top of the session's worktree. */
  folder: string;
  /** Commit of the source's HEAD. */
  base_commit: string;
  /** Tree from which the session started; empty while it is being made. */
  base_tree: string;
  created_at: string;
  /** When the session, or the last one that went on in it, ended; null while the first one runs. */
  ended_at: string | null;
  /** Commit that the ref keeps; null when the session made none or nothing was applied. */
  kept_commit: string | null;
  /** Conflict that its changes met when they were last applied; null without one. */
  conflict: WorkspaceConflict | null;
  /** Changes that an apply left in it, since they can run programs: they wait for a person's word. */
  held: HeldChange[];
  /** Its session still runs: nothing can be applied or discarded. */
  running: boolean;
}

/** Whether a session worked in a worktree. */
export function workedIn({ session_id, later_sessions = [] }: Workspace, sessionId: string): boolean {
  return session_id === sessionId || later_sessions.includes(sessionId);
}

/** Changes in a worktree since its base. */
export interface WorktreeDiff {
  /** Patch for `git apply`: unified text, binary files encoded. Bytes, because a file's text need not be UTF-8. */
  patch: Uint8Array;
  /** The same changes as a list. Paths are relative to the top of the repository. */
  artifacts: Artifact[];
  /** Changes that the list leaves out, as in a result; the patch has them. */
  artifacts_omitted?: number;
  /** Changes in it that can run programs, or lead out of the repository: they are applied only on request. */
  held: HeldChange[];
}

/** State of a folder that a session could work in: what is checked out there. */
export interface FolderState {
  /** Real absolute path. */
  workdir: string;
  /** Null where HEAD is at a commit and no branch, and outside a repository. */
  branch: string | null;
  /** Commit of HEAD; null before the first one, and outside a repository. */
  commit: string | null;
  /** Whether files there differ from the commit, new ones too, without ignored ones; null where there is none, or it is not known. */
  uncommitted: boolean | null;
}

/** Outcome of applying a session's changes to their source. */
export interface AppliedWorkspace {
  session_id: string;
  /** Changes in the source, with paths relative to the top of its repository. */
  artifacts: Artifact[];
  /** Changes that the list leaves out, as in a result. */
  artifacts_omitted?: number;
  /** Changes that were not applied, since they can run programs: they wait in the worktree. */
  held: HeldChange[];
  /** The session's last commit, which `refs/bulkhead/<session id>` keeps; null when it made none. */
  kept_commit: string | null;
}

/** Outcome of pruning. */
export interface PruneReport {
  /** Sessions whose workspaces are gone. */
  removed: string[];
  /** Sessions whose workspaces could not be removed; a failure does not stop the others. */
  failed: { session_id: string; error: ErrorData }[];
}
