import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { withDeadline } from "../git/deadline.ts";
import { addWorktree, headOf, removeWorktree } from "../git/linked-worktree.ts";
import { copyLarge, copyMissing, largeOf, moveLarge, unchangedLarge } from "../git/large-files.ts";
import {
  baseIndex,
  findWorktreeSource,
  shadowOver,
  shadowOverWorktree,
  takeBase,
  type WorktreeBase,
} from "../git/worktree-start.ts";
import { mkdir, realpath, rename } from "../../ground/platform/files/files.ts";
import { basename, dirname, isInside, join, relative } from "../../ground/platform/files/paths.ts";
import { removeTree } from "../../ground/platform/files/remove-tree.ts";
import type { TurnTree } from "../checkpoints/turn-tree.ts";
import { beginWithTurn } from "../checkpoints/begin-with-turn.ts";
import type { WorkspaceFiles } from "./workspace-files.ts";
import type { WorkspaceRecord } from "./workspace-record.ts";
import { runGit } from "../../ground/platform/processes/git-program.ts";
import { shadowRun } from "../git/shadow-repository.ts";
import { randomId } from "../../ground/platform/files/hash.ts";
import { isLike } from "../git/worktree-diff.ts";

/** Options of {@link openWorkspace}. */
export interface OpenWorkspaceOptions {
  sessionId: string;
  /** Real absolute path of the requested working directory. */
  workdir: string;
  /** Real absolute paths not to copy, except tracked files: secrets, the host's own state. */
  exclude?: readonly string[];
  /** The turn whose files it begins with; default: those that are there now. */
  turn?: TurnTree | undefined;
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
  const { sessionId, workdir, exclude = [], turn, signal, timeoutMs = workspaceTimeoutMs } = options;
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
      const taken = await takeBase(source, {
        folder: join(home, "base"),
        exclude: [files.folder, ...exclude],
        signal: within,
      });
      const { base, large } = turn === undefined
        ? taken
        : await beginWithTurn(taken, { turn, sourceTop, signal: within });
      const fill: Parameters<typeof addWorktree>[1]["fill"] = async (worktree, call) => {
        if (large.length > 0) base.tree = await copyLarge(worktree, { paths: large, from: sourceTop, call });
      };
      await addWorktree(base, { folder, sourceTop, signal: within, fill });
      const inside = join(folder, relative(sourceTop, workdir));
      // A folder that holds only ignored files is in no tree.
      await mkdir(inside, { recursive: true });
      const { commit: base_commit, tree: base_tree, store } = base;
      const isOfTurn = turn === undefined ? {} : { of_turn: true as const };
      await files.write({ ...record, state: "open", base_commit, base_tree, store, ...isOfTurn });
      return { workdir: inside, folder, base_commit, base_tree };
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

/**
 * Makes a worktree again as it was at first. Large files, of which the store has no content, stay where they were not
 * changed, and else come from the source.
 * @throws {BulkheadError} `io_error`, before anything is removed where one of them is nowhere as it was
 */
export async function remakeWorktree(record: WorkspaceRecord, base: WorktreeBase, signal: AbortSignal): Promise<void> {
  const { folder, repository: sourceTop, workdir } = record;
  const large = await largeOf(base.store);
  const call = { index: baseIndex, signal };
  const kept = await unchangedLarge(shadowOverWorktree(base, folder), { paths: large, call });
  const others = large.filter((path) => !kept.includes(path));
  const source = shadowOver(base, { top: sourceTop, gitDir: join(base.store, "none") });
  const copied = others.length === 0 ? [] : await unchangedLarge(source, { paths: others, call });
  const lost = others.find((path) => !copied.includes(path));
  if (lost !== undefined) {
    throw new BulkheadError(
      "io_error",
      `Cannot put the worktree back as it was: "${lost}" was changed, and has no copy.`,
    );
  }
  const aside = join(base.store, "large-kept");
  await moveLarge(kept, { from: folder, to: aside });
  await removeWorktree({ folder, sourceTop, signal });
  await addWorktree(base, {
    folder,
    sourceTop,
    signal,
    fill: async (files, filling) => {
      await moveLarge(kept, { from: aside, to: folder });
      await copyMissing(copied, { from: sourceTop, to: folder });
      // Tells git that they are there; all other files are still missing.
      await runGit(["update-index", "-q", "--refresh"], shadowRun(files, filling));
    },
  });
  await mkdir(join(folder, relative(sourceTop, workdir)), { recursive: true });
}

/**
 * Takes an unchanged worktree out of its place. It is moved away before it is looked at, so that what a person writes
 * there meanwhile is not removed with it; one that differs from its base is put back.
 * @returns whether it was taken: `removeFiles` then removes it
 * @throws {BulkheadError} `io_error`, `timeout`
 */
export async function takeUnchanged(record: WorkspaceRecord): Promise<boolean> {
  const { folder, repository: sourceTop, store, base_commit: commit, base_tree: tree } = record;
  return await withDeadline({ timeoutMs: workspaceTimeoutMs }, async (signal) => {
    if (await headOf({ folder, sourceTop, signal }) !== commit) return false;
    const moved = join(dirname(folder), `unchanged-${randomId()}`);
    await rename(folder, moved);
    const isUnchanged = await isLike({ store, commit, tree }, { folder: moved, signal }).catch(() => false);
    if (!isUnchanged) await rename(moved, folder);
    return isUnchanged;
  });
}
