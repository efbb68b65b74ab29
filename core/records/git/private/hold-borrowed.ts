import { runIn } from "../find-repository.ts";
import { copyWithTime } from "../../../ground/platform/files/copy-with-time.ts";
import { rm } from "../../../ground/platform/files/files.ts";
import { runGit } from "../../../ground/platform/processes/git-program.ts";
import { join } from "../../../ground/platform/files/paths.ts";
import { git, lineOf, linesIn } from "../git-call.ts";
import type { PrivateRecord, PrivateRepository } from "./private-record.ts";
import { stateBefore } from "./private-state.ts";

/** Keeps what a session's private git folders borrow, by refs: a clean-up of a person would take it away. */
export async function holdBorrowed(
  { session_id: sessionId, is_worktree, repositories }: PrivateRecord,
  { folder, signal }: { folder: string; signal: AbortSignal },
): Promise<void> {
  // git keeps what a worktree's HEAD and index name.
  if (is_worktree) return;
  for (const known of repositories) await holdOne(known, { place: join(folder, known.name), sessionId, signal });
}

async function holdOne(
  known: PrivateRepository,
  { place, sessionId, signal }: { place: string; sessionId: string; signal: AbortSignal },
): Promise<void> {
  const { commit, index: held } = await stateBefore(known, place);
  const index = join(place, "held-index");
  const { cwd, env } = runIn(known.git_dir);
  const run = { cwd, env: { ...env, GIT_INDEX_FILE: index }, signal };
  const [ofCommit, ofIndex] = holdNames(sessionId);
  const lines = commit === null ? [] : [`update ${ofCommit} ${commit}`];
  if (held !== null) {
    await copyWithTime(join(place, "base/index"), index);
    // An index with conflicts has no tree. Its objects are those of commits.
    const outcome = await runGit(["write-tree"], run);
    if (outcome.exit_code === 0) lines.push(`update ${ofIndex} ${lineOf(outcome.stdout)}`);
    await rm(index, { force: true });
  }
  if (lines.length === 0) return;
  await git(["update-ref", "--stdin"], { ...run, stdin: linesIn(lines) });
}

/** The name below which refs of a session are kept. `apply` gives its commits another name. */
export function keptRoot(sessionId: string, { isWorktree }: { isWorktree: boolean }): string {
  return `refs/bulkhead/${sessionId}${isWorktree ? ".git" : ""}`;
}

/** Names of the refs that keep what a session borrows: the commit that it begins at, and the tree of its index. */
export function holdNames(sessionId: string): [commit: string, index: string] {
  return [`refs/bulkhead/${sessionId}/base/head`, `refs/bulkhead/${sessionId}/base/index`];
}
