import { readingEnv } from "../find-repository.ts";
import { rm } from "../../../ground/runtime/files.ts";
import { runGit } from "../../../ground/runtime/git-program.ts";
import { randomId } from "../../../ground/runtime/hash.ts";
import { join } from "../../../ground/runtime/paths.ts";
import { gitError, lineOf } from "../git-call.ts";
import { indexInfo } from "./index-changes.ts";
import { readIndexEntries } from "./index-entries.ts";
import type { TakeOverPlan } from "./plan-take-over.ts";

/**
 * Stores an agent's index that does not move as a tree in the repository.
 * @returns null where it has nothing that its commit does not have
 */
export async function keepIndex(
  { known, after, place, signal }: TakeOverPlan,
): Promise<{ id: string } | { because: string } | null> {
  if (after.index === null) return null;
  const entries = readIndexEntries(after.index, known.object_format);
  if (entries === null) return { because: "the agent's index cannot be read" };
  const { git_dir: gitDir } = known;
  const index = join(place, `index-${randomId()}`);
  const run = { cwd: gitDir, env: { ...readingEnv(), GIT_DIR: gitDir, GIT_INDEX_FILE: index }, signal };
  try {
    // Of a conflict the agent's own side is kept; the other one is a commit.
    const wanted = [...entries].filter(([, { stage, isIntended }]) => (stage === 0 || stage === 2) && !isIntended)
      .map(([key, entry]) => [key, { ...entry, stage: 0 }] as const);
    const stdin = indexInfo(wanted);
    for (
      const [args, input] of [[["update-index", "-z", "--index-info"], stdin], [["write-tree"], undefined]] as const
    ) {
      const outcome = await runGit(args, { ...run, stdin: input });
      if (outcome.exit_code !== 0) return { because: gitError(args, outcome).message.replace(/\.$/, "") };
      if (input !== undefined) continue;
      const id = lineOf(outcome.stdout);
      return id === await treeOf(after.commit, run) ? null : { id };
    }
    return null;
  } finally {
    await rm(index, { force: true });
  }
}

async function treeOf(commit: string | null, run: { cwd: string; env: Record<string, string>; signal: AbortSignal }) {
  if (commit === null) return null;
  const outcome = await runGit(["rev-parse", "--verify", "-q", `${commit}^{tree}`], run);
  return outcome.exit_code === 0 ? lineOf(outcome.stdout) : null;
}
