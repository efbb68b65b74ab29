import { gitError } from "./git-call.ts";
import { runGit } from "../../ground/runtime/git-program.ts";
import { changedThere } from "./apply-worktree.ts";
import { shadowRun } from "./shadow-repository.ts";
import { withWorktreeIndex } from "./worktree-diff.ts";
import { shadowOverWorktree, type WorktreeBase } from "./worktree-start.ts";

/** Options of {@link patchWorktree}. */
interface PatchWorktreeOptions {
  folder: string;
  patch: Uint8Array;
  /** The repository that the worktree is of, for errors. */
  sourceTop: string;
  signal: AbortSignal;
}

/**
 * Writes a patch into a worktree: all of it or nothing. No path of it leaves the folder.
 * @throws {BulkheadError} `conflict` with the paths in `details.paths` where it does not fit, `io_error`
 */
export async function patchWorktree(base: WorktreeBase, options: PatchWorktreeOptions): Promise<void> {
  const { folder, patch, sourceTop, signal } = options;
  if (patch.byteLength === 0) return;
  const args = ["apply", "--whitespace=nowarn", "-"];
  const shadow = shadowOverWorktree(base, folder);
  const outcome = await withWorktreeIndex(
    base,
    (index) => runGit(args, shadowRun(shadow, { index, signal, stdin: patch })),
  );
  if (outcome.exit_code === 0) return;
  const paths = [...outcome.stderr.matchAll(/^error: (?:patch failed: )?(.+?)(?::\d+|: [a-z].*)$/gm)];
  throw paths.length === 0 ? gitError(args, outcome) : changedThere(paths.map(([, path = ""]) => path), sourceTop);
}
