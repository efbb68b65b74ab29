import type { FolderState } from "../../../plugin-sdk/workspace.ts";
import { runGit } from "../../ground/platform/processes/git-program.ts";
import { withDeadline } from "./deadline.ts";
import { findRepository, type GitPlace, readingEnv } from "./find-repository.ts";
import { git, lineOf } from "./git-call.ts";
import type { SharedLooks } from "./shared-looks.ts";

interface FolderStateOptions {
  looks: Pick<SharedLooks, "take" | "release">;
  /** Real absolute paths to leave out, for example the host's own state. */
  exclude?: readonly string[] | undefined;
}

/** Longest wait for git. A person who chooses a folder goes on without an answer. Milliseconds. */
const timeoutMs = 15_000;

/**
 * Tells what a folder has checked out. Writes nothing to its repository, and runs nothing that its settings name.
 * @param workdir real absolute path
 * @throws {BulkheadError} `git_missing`, `timeout`, `io_error`
 */
export async function readFolderState(
  workdir: string,
  { looks, exclude = [] }: FolderStateOptions,
): Promise<FolderState> {
  return await withDeadline({ timeoutMs }, async (signal) => {
    const place = { workdir, signal };
    const repository = await findRepository(place);
    if (repository === null) return { workdir, branch: null, commit: null, uncommitted: null };
    const { head } = repository;
    const [branch, tree, now] = await Promise.all([
      readBranch(place),
      head === null ? null : git(["rev-parse", `${head}^{tree}`], asking(place)).then(lineOf),
      head === null ? null : treeNow(place, { looks, exclude }),
    ]);
    return { workdir, branch, commit: head, uncommitted: now === null ? null : now !== tree };
  });
}

/** Returns the branch that HEAD names; null where it names a commit. */
async function readBranch(place: GitPlace): Promise<string | null> {
  const { exit_code, stdout } = await runGit(["symbolic-ref", "-q", "HEAD"], asking(place));
  return exit_code === 0 ? lineOf(stdout).replace(/^refs\/heads\//, "") : null;
}

/** Returns the tree of the files that are there now; null where a look at them failed. */
async function treeNow(
  { workdir, signal }: GitPlace,
  { looks, exclude = [] }: FolderStateOptions,
): Promise<string | null> {
  const look = await looks.take(workdir, { signal, exclude });
  const tree = look.held?.before.tree ?? null;
  await looks.release(look);
  return tree;
}

function asking({ workdir, signal }: GitPlace): Parameters<typeof runGit>[1] {
  return { cwd: workdir, env: readingEnv(), signal };
}
