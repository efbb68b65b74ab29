import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { withDeadline } from "../git/deadline.ts";
import { addWorktree, removeWorktree } from "../git/linked-worktree.ts";
import { copyLarge } from "../git/large-files.ts";
import { takeBase } from "../git/worktree-start.ts";
import { findWorktreeSource } from "../git/worktree-source.ts";
import { mkdir, realpath } from "../../ground/runtime/files.ts";
import { basename, isInside, join, relative } from "../../ground/runtime/paths.ts";
import { removeTree } from "../../ground/runtime/remove-tree.ts";
import type { WorkspaceFiles } from "./workspace-files.ts";
import type { WorkspaceRecord } from "./workspace-record.ts";

/** Options of {@link openWorkspace}. */
export interface OpenWorkspaceOptions {
  sessionId: string;
  /** Real absolute path of the requested working directory. */
  workdir: string;
  /** Real absolute paths not to copy, except tracked files: secrets, the host's own state. */
  exclude?: readonly string[];
  signal?: AbortSignal | undefined;
  /** Timeout for making it. Default 300,000. */
  timeoutMs?: number;
}

/** A workspace that is ready for a session. */
export interface OpenedWorkspace {
  /** The session's working directory: the place in the worktree that matches the requested one in its repository. */
  workdir: string;
  /** Top of the worktree. */
  folder: string;
  base_commit: string;
  base_tree: string;
}

/** Timeout for work on a whole work tree. */
export const workspaceTimeoutMs = 300_000;

/**
 * Makes a worktree for a session from the source's visible content: HEAD and every change and untracked file that is
 * not ignored. Removes all of it when that fails.
 * @throws {BulkheadError} `invalid_request` without a repository or a commit, `unsupported` for repositories in the
 * work tree, `already_exists`, `git_missing`, `timeout`, `io_error`
 */
export async function openWorkspace(files: WorkspaceFiles, options: OpenWorkspaceOptions): Promise<OpenedWorkspace> {
  const { sessionId, workdir, exclude = [], signal, timeoutMs = workspaceTimeoutMs } = options;
  return await withDeadline({ signal, timeoutMs }, async (within) => {
    const source = await findWorktreeSource({ workdir, signal: within });
    const sourceTop = source.repository.top;
    refuseInside(files.folder, sourceTop);
    if (await files.read(sessionId).then(() => true, () => false)) throw taken(sessionId);
    const home = await makeHome(files, sessionId);
    const folder = join(home, "tree", basename(sourceTop) || "work");
    const record = newRecord({ sessionId, workdir, sourceTop, folder, commit: source.commit, holder: files.holder });
    try {
      // First, so that after a kill the record still tells who owns the pieces.
      await files.write(record);
      await mkdir(join(home, "base"));
      await mkdir(join(home, "tree"));
      const { base, large } = await takeBase(source, {
        folder: join(home, "base"),
        exclude: [files.folder, ...exclude],
        signal: within,
      });
      const fill: Parameters<typeof addWorktree>[1]["fill"] = async (worktree, call) => {
        if (large.length > 0) base.tree = await copyLarge(worktree, { paths: large, from: sourceTop, call });
      };
      await addWorktree(base, { folder, sourceTop, signal: within, fill });
      const inside = join(folder, relative(sourceTop, workdir));
      // A folder that holds only ignored files is in no tree.
      await mkdir(inside, { recursive: true });
      await files.write({ ...record, state: "open", base_tree: base.tree, store: base.store });
      return { workdir: inside, folder, base_commit: base.commit, base_tree: base.tree };
    } catch (error) {
      await removeAll(files, record).catch(() => undefined);
      throw error;
    }
  });
}

/** Removes a workspace with its registration in the repository, and then its record. */
export async function removeAll(files: WorkspaceFiles, record: WorkspaceRecord): Promise<void> {
  await removeFiles(files, record);
  await files.remove(record.session_id);
}

/** Removes a workspace's files and its registration in the repository. */
export async function removeFiles(files: WorkspaceFiles, record: WorkspaceRecord): Promise<void> {
  const { folder, repository: sourceTop, session_id } = record;
  await withDeadline({ timeoutMs: workspaceTimeoutMs }, (signal) => removeWorktree({ folder, sourceTop, signal }));
  await removeTree(homeOf(files, session_id));
}

/** Folder that holds all files of a workspace. */
export function homeOf(files: WorkspaceFiles, sessionId: string): string {
  return join(files.folder, sessionId);
}

async function makeHome(files: WorkspaceFiles, sessionId: string): Promise<string> {
  const home = homeOf(files, sessionId);
  await mkdir(home, { recursive: true, mode: 0o700 });
  return await realpath(home);
}

/** A worktree inside its source work tree would be among its own files. */
function refuseInside(folder: string, sourceTop: string): void {
  if (!isInside(sourceTop, folder)) return;
  throw new BulkheadError("invalid_request", `Cannot make a worktree of "${sourceTop}": the host's state lies in it.`, {
    hint: "Keep the state elsewhere, with --state-dir or state_dir, or ask for workspace: inplace.",
  });
}

function taken(sessionId: string): BulkheadError {
  return new BulkheadError("already_exists", `Session "${sessionId}" has a workspace already.`);
}

function newRecord(
  { sessionId, workdir, sourceTop, folder, commit, holder }: {
    sessionId: string;
    workdir: string;
    sourceTop: string;
    folder: string;
    commit: string;
    holder: WorkspaceRecord["holder"];
  },
): WorkspaceRecord {
  return {
    session_id: sessionId,
    state: "opening",
    workdir,
    repository: sourceTop,
    folder,
    base_commit: commit,
    base_tree: "",
    store: "",
    created_at: new Date().toISOString(),
    ended_at: null,
    kept_commit: null,
    unfinished: null,
    holder,
  };
}
