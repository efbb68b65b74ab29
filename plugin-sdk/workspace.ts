import type { ErrorData } from "./errors.ts";
import type { Artifact } from "./result.ts";

/**
 * What became of a workspace: it is being made, its changes wait for a decision, they are being written into the
 * source, they are there, or they are gone.
 */
export type WorkspaceState = "opening" | "open" | "applying" | "applied" | "discarded";

/** A session's worktree, as a person or a program sees it. Paths are real and absolute. */
export interface Workspace {
  session_id: string;
  state: WorkspaceState;
  /** The working directory that the session was asked for. */
  workdir: string;
  /** Top of the repository's work tree that holds it: the source. */
  repository: string;
  /** Top of the session's worktree. */
  folder: string;
  /** Commit that HEAD of the source named. */
  base_commit: string;
  /** Tree of what the session started from; empty while it is being made. */
  base_tree: string;
  created_at: string;
  /** When the session ended; null while it runs. */
  ended_at: string | null;
  /** Commit that the ref keeps; null when the session made none or nothing was applied. */
  kept_commit: string | null;
  /** Its session still runs: nothing can be applied or discarded. */
  running: boolean;
}

/** What was changed in a worktree since its base. */
export interface WorktreeDiff {
  /** For `git apply`: unified text, binary files encoded. Bytes, because a file's text need not be UTF-8. */
  patch: Uint8Array;
  /** The same as a list. Paths are relative to the top of the repository. */
  artifacts: Artifact[];
  /** Links among them that lead out of the repository, or into its `.git`: they are applied only where that is asked for. */
  links_out: { path: string; target: string }[];
}

/** What bringing a session's changes to their source did. */
export interface AppliedWorkspace {
  session_id: string;
  /** What was changed in the source, paths relative to the top of its repository. */
  artifacts: Artifact[];
  /** The session's last commit, which `refs/bulkhead/<session id>` keeps; null when it made none. */
  kept_commit: string | null;
}

/** What pruning did. */
export interface PruneReport {
  /** Sessions whose workspaces are gone. */
  removed: string[];
  /** Those that could not be removed; the others were all the same. */
  failed: { session_id: string; error: ErrorData }[];
}
