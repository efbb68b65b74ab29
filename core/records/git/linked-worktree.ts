import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { copyWithTime } from "../../ground/platform/files/copy-with-time.ts";
import { stat } from "../../ground/platform/files/files.ts";
import { type GitOutcome, runGit } from "../../ground/platform/processes/git-program.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { removeTree } from "../../ground/platform/files/remove-tree.ts";
import { Turns } from "../../ground/platform/engine/turns.ts";
import { wait } from "../../ground/platform/engine/wait.ts";
import { findRepository, readHead, readingEnv } from "./find-repository.ts";
import { git, gitError } from "./git-call.ts";
import { gitInShadow, type ShadowCall, type ShadowRepository } from "./shadow-repository.ts";
import { baseIndex, shadowOverWorktree, type WorktreeBase } from "./worktree-start.ts";

interface WorktreePlace {
  /** Real absolute path of the worktree's top, which need not exist. Its parent does. */
  folder: string;
  /** Top of the source work tree. */
  sourceTop: string;
  signal: AbortSignal;
}

/**
 * Adds a linked worktree with a detached HEAD and the content of the base. In the user's repository this makes one
 * registration in `worktrees/` and nothing else; no hook and no filter runs. Its index is that of HEAD, so everything
 * uncommitted shows as a change that is not staged.
 * @throws {BulkheadError} `git_missing`, `io_error`; the caller then removes the partial worktree
 */
export async function addWorktree(
  base: WorktreeBase,
  { folder, sourceTop, signal, fill }: WorktreePlace & {
    /** Puts large files into the worktree, and into the base's index. */
    fill?: (files: ShadowRepository, call: ShadowCall) => Promise<void>;
  },
): Promise<void> {
  const args = ["worktree", "add", "-q", "--detach", "--no-checkout", folder, base.commit];
  const outcome = await changeWorktrees(args, { sourceTop, signal });
  if (outcome.exit_code !== 0) throw gitError(args, outcome);
  const made = await findRepository({ workdir: folder, signal });
  if (made?.top !== folder) throw new BulkheadError("io_error", `git made no worktree in "${folder}".`);
  const files = shadowOverWorktree(base, folder);
  await fill?.(files, { index: baseIndex, signal });
  // Stores time and size of each file in the index, so that later runs need not read unchanged files.
  await gitInShadow(files, ["checkout-index", "-a", "-u", "-q"], { index: baseIndex, signal });
  const index = join(made.gitDir, "index");
  await copyWithTime(join(base.store, baseIndex), index);
  await gitInShadow(files, ["read-tree", "--reset", base.commit], { index, signal });
}

/**
 * Removes a worktree and its registration, in any state; missing ones are no failure. Touches no other registration,
 * not even a stale one.
 * @throws {BulkheadError} `io_error` when something of it is left
 */
export async function removeWorktree({ folder, sourceTop, signal }: WorktreePlace): Promise<void> {
  // First, because git refuses a folder whose `.git` the agent has changed, and accepts a missing one.
  await removeTree(folder);
  const args = ["worktree", "remove", "--force", "--force", folder];
  // The repository itself may be gone, and every registration with it.
  if (!(await stat(sourceTop).then((found) => found.isDirectory(), () => false))) return;
  const outcome = await changeWorktrees(args, { sourceTop, signal });
  if (outcome.exit_code === 0) return;
  if (/is not a working tree|not a git repository/.test(outcome.stderr)) return;
  throw gitError(args, outcome);
}

/** Changes to the worktrees of one repository, one after another. */
const turns = new Turns(1);

/** Changes worktrees one at a time: git fails at a registration that another git is making. */
async function changeWorktrees(
  args: readonly string[],
  { sourceTop, signal }: Pick<WorktreePlace, "sourceTop" | "signal">,
): Promise<GitOutcome> {
  // A relative path would set an extension in the repository's config.
  const all = ["-c", "worktree.useRelativePaths=false", ...args];
  return await turns.take(sourceTop, async () => {
    for (let tries = 1;; tries++) {
      const outcome = await runGit(all, { cwd: sourceTop, env: readingEnv(), signal });
      if (outcome.exit_code === 0 || tries === mostTries || !halfMade.test(outcome.stderr)) return outcome;
      await wait(tries * retryMs, signal);
    }
  });
}

/** Words of git about a registration that another git is making or removing. */
const halfMade = /^fatal: (?:failed to read|Invalid path) .*\bworktrees\//m;

const mostTries = 5;

/** Pause after the first failure; after each further one it is longer by as much. Milliseconds. */
const retryMs = 20;

/**
 * Keeps a worktree's own commits reachable, by a ref in the repository.
 * @returns the commit that HEAD of the worktree names; null when there is none but the base
 */
export async function keepCommits(
  ref: string,
  { folder, sourceTop, baseCommit, signal }: WorktreePlace & { baseCommit: string },
): Promise<string | null> {
  const head = await headOf({ folder, sourceTop, signal });
  if (head === null || head === baseCommit) return null;
  await git(["update-ref", ref, head], { cwd: sourceTop, env: readingEnv(), signal });
  return head;
}

/** HEAD of the worktree, if it still belongs to that repository. */
export async function headOf({ folder, sourceTop, signal }: WorktreePlace): Promise<string | null> {
  const [made, source] = await Promise.all([
    findRepository({ workdir: folder, signal }).catch(() => null),
    findRepository({ workdir: sourceTop, signal }),
  ]);
  if (made === null || made.top !== folder || made.commonDir !== source?.commonDir) return null;
  return await readHead({ workdir: folder, signal });
}
