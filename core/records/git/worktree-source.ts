import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { lstat } from "../../ground/runtime/files.ts";
import { join } from "../../ground/runtime/paths.ts";
import { findRepository, type GitPlace, type Repository } from "./find-repository.ts";
import { eachInShadow, type ShadowCall, type ShadowRepository, topOf } from "./shadow-repository.ts";

/** A repository that a worktree can be made from. */
export interface WorktreeSource {
  repository: Repository;
  /** The commit that HEAD names. */
  commit: string;
}

/**
 * Finds what a worktree for this working directory is made from.
 * @throws {BulkheadError} `invalid_request` without a repository or a commit, `git_missing`, `io_error`
 */
export async function findWorktreeSource(place: GitPlace): Promise<WorktreeSource> {
  const { workdir } = place;
  const repository = await findRepository(place);
  if (repository === null) {
    throw new BulkheadError(
      "invalid_request",
      `Cannot make a worktree of "${workdir}": it lies in no git repository.`,
      {
        hint: 'Make one with "git init" and a first commit, or ask for workspace: inplace.',
      },
    );
  }
  const commit = repository.head;
  if (commit === null) {
    throw new BulkheadError(
      "invalid_request",
      `Cannot make a worktree of "${workdir}": its repository has no commit yet.`,
      { hint: "Make a first commit, or ask for workspace: inplace." },
    );
  }
  return { repository, commit };
}

/**
 * Refuses a work tree with other repositories in it, which a worktree would show as empty folders. Submodules that
 * are not checked out are empty folders here as well.
 * @throws {BulkheadError} `unsupported`
 */
export async function refuseNested(shadow: ShadowRepository, call: ShadowCall): Promise<void> {
  const pointers: string[] = [];
  const take = (line: Uint8Array) => {
    const text = new TextDecoder().decode(line);
    if (text.startsWith("160000 ")) pointers.push(text.slice(text.indexOf("\t") + 1));
  };
  await eachInShadow(shadow, ["ls-files", "-z", "-s"], { ...call, take });
  const there = await Promise.all(pointers.map((path) => hasRepository(join(topOf(shadow), path))));
  const nested = pointers.filter((_, at) => there[at]);
  if (nested.length === 0) return;
  const [first = ""] = nested;
  const named = nested.length === 1 ? `"${first}"` : `"${first}" and ${nested.length - 1} more`;
  throw new BulkheadError(
    "unsupported",
    `Cannot make a worktree of "${topOf(shadow)}": ${named} in it is a repository of its own.`,
    {
      hint: "Ask for workspace: inplace, or ignore what does not belong to the work.",
      details: { nested: nested.slice(0, 100) },
    },
  );
}

function hasRepository(folder: string): Promise<boolean> {
  return lstat(join(folder, ".git")).then(() => true, () => false);
}
