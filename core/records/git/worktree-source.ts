import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { lstat } from "../../ground/runtime/files.ts";
import { dirname, join, resolve } from "../../ground/runtime/paths.ts";
import { readPlainFile } from "../../ground/runtime/read-plain-file.ts";
import { findRepository, type GitPlace, type Repository } from "./find-repository.ts";
import { repairHint, shellWord } from "./private/git-commands.ts";
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
    await refuseBrokenLink(workdir);
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
 * Refuses a folder whose file `.git` names a folder that is missing, which git takes for no repository.
 * @throws {BulkheadError} `invalid_request`
 */
async function refuseBrokenLink(workdir: string): Promise<void> {
  for (let top = workdir;; top = dirname(top)) {
    const bytes = await readPlainFile(join(top, ".git"), 4096);
    const named = /^gitdir: (.+?)\r?\n?$/.exec(bytes === null ? "" : new TextDecoder().decode(bytes))?.[1];
    if (named !== undefined) {
      const gitDir = resolve(top, named);
      throw new BulkheadError(
        "invalid_request",
        `Cannot make a worktree of "${workdir}": its git folder "${gitDir}" is missing.`,
        { hint: repairHint(top) },
      );
    }
    if (dirname(top) === top) return;
  }
}

/**
 * Refuses a work tree with other repositories in it, which a worktree would show as empty folders. Submodules that
 * are not checked out are empty folders here as well.
 * @throws {BulkheadError} `unsupported`
 */
export async function refuseNested(shadow: ShadowRepository, call: ShadowCall): Promise<void> {
  const top = topOf(shadow);
  const pointers = await listPointers(shadow, call);
  const there = await Promise.all(pointers.map((path) => hasRepository(join(top, path))));
  const nested = pointers.filter((_, at) => there[at]);
  if (nested.length === 0) return;
  const [first = ""] = nested;
  const named = nested.length === 1 ? `"${first}"` : `"${first}" and ${nested.length - 1} more`;
  const tracked = new Set(await listPointers(shadow, { ...call, index: join(gitDirOf(shadow), "index") }));
  throw new BulkheadError(
    "unsupported",
    `Cannot make a worktree of "${top}": ${named} in it is a repository of its own.`,
    { hint: hintFor(shadow, { nested, tracked }), details: { nested: nested.slice(0, 100) } },
  );
}

/** Paths at which an index points to other repositories. */
async function listPointers(shadow: ShadowRepository, call: ShadowCall): Promise<string[]> {
  const pointers: string[] = [];
  const take = (line: Uint8Array) => {
    const text = new TextDecoder().decode(line);
    if (text.startsWith("160000 ")) pointers.push(text.slice(text.indexOf("\t") + 1));
  };
  await eachInShadow(shadow, ["ls-files", "-z", "-s"], { ...call, take });
  return pointers;
}

/** Names the ways for a submodule, and for a nested repository that is none. */
function hintFor(
  shadow: ShadowRepository,
  { nested, tracked }: { nested: readonly string[]; tracked: ReadonlySet<string> },
): string {
  const submodule = nested.find((path) => tracked.has(path));
  const other = nested.find((path) => !tracked.has(path));
  const ways = ["Ask for workspace: inplace."];
  if (submodule !== undefined) {
    const word = shellWord(submodule);
    ways.push(
      `For work in the submodule alone, name it as the working directory: ${word}.`,
      `A submodule that the work does not need can be put away. Run: git submodule deinit ${word}`,
    );
  }
  if (other !== undefined) {
    const exclude = join(shadow.repository?.commonDir ?? gitDirOf(shadow), "info", "exclude");
    ways.push(
      `What does not belong to the work can be ignored. Run: echo ${shellWord(`/${other}/`)} >> ${shellWord(exclude)}`,
    );
  }
  return ways.join(" ");
}

function gitDirOf({ repository, folder }: ShadowRepository): string {
  return repository?.gitDir ?? folder;
}

function hasRepository(folder: string): Promise<boolean> {
  return lstat(join(folder, ".git")).then(() => true, () => false);
}
