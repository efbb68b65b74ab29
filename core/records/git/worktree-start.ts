import { eachEntry, pathText } from "./raw-diff.ts";
import { isThere, plainText } from "./look-at.ts";
import { dirname, join, resolve } from "../../ground/platform/files/paths.ts";
import { findRepository, type GitPlace, readSettings, type Repository } from "./find-repository.ts";
import {
  copyUserIndex,
  gitInShadow,
  makeShadow,
  makeShadowFolder,
  type ShadowCall,
  type ShadowRepository,
  topOf,
} from "./shadow-repository.ts";
import { writeWholeTree } from "./whole-tree.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { quoteWord } from "../../ground/config/grant-command.ts";
import { repairHint } from "./private/git-commands.ts";

/** Starting point of a worktree, kept on disk. All of it is text, so that a record can hold it. */
export interface WorktreeBase {
  /** Git folder of our own, which holds uncommitted content and borrows the rest. */
  store: string;
  /** The source's HEAD. */
  commit: string;
  /** Tree of HEAD with all changes and untracked files of the source on top. */
  tree: string;
}

/** Name of the store's index for the base's tree. */
export const baseIndex = "index-base";

interface TakeBaseOptions {
  /** Real absolute path of an existing folder for the store. */
  folder: string;
  /** Real absolute paths to leave out. */
  exclude?: readonly string[];
  signal: AbortSignal;
}

/**
 * Stores the visible content, but for large files that are in no commit, of a repository's work tree: HEAD and everything uncommitted, tracked or not, except
 * ignored files. Writes nothing to the repository.
 * @throws {BulkheadError} `unsupported`, `io_error`
 */
export async function takeBase(
  { repository, commit }: WorktreeSource,
  { folder, exclude = [], signal }: TakeBaseOptions,
): Promise<{ base: WorktreeBase; large: readonly Uint8Array[] }> {
  const whole = wholeOf(repository);
  const { settings } = await readSettings({ workdir: whole.top, signal });
  const shadow = await makeShadow({
    folder: await makeShadowFolder(folder),
    workdir: whole.top,
    repository: whole,
    scratchDir: folder,
    exclude,
    settings,
  });
  const call = { index: baseIndex, signal };
  await copyUserIndex(shadow, baseIndex);
  const { tree, large } = await writeWholeTree(shadow, call);
  await refuseNested(shadow, call);
  // The worktree's own index becomes a copy of it, and a copy of a split index would be half of one.
  await gitInShadow(shadow, ["-c", "core.splitIndex=false", "update-index", "--no-split-index"], call);
  return { base: { store: shadow.folder, commit, tree }, large };
}

/** Uses a base's store as the shadow of a work tree: of the source, or of the worktree. */
export function shadowOver({ store }: WorktreeBase, repository: Pick<Repository, "top" | "gitDir">): ShadowRepository {
  const { top, gitDir } = repository;
  // The store's own config sets the object format, and its alternates name the other object stores.
  return { folder: store, workdir: top, repository: { top, gitDir, prefix: "", commonDir: gitDir, objectFormat: "" } };
}

/** Uses a base's store as the shadow of its worktree; ignores the `.git` there, which the agent may have changed. */
export function shadowOverWorktree(base: WorktreeBase, folder: string): ShadowRepository {
  return shadowOver(base, { top: folder, gitDir: join(base.store, "none") });
}

/** The whole repository, even when the working directory is a part of it. */
function wholeOf(repository: Repository): Repository {
  return { ...repository, prefix: "" };
}

interface WorktreeSource {
  repository: Repository;
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
    const named = /^gitdir: (.+?)\r?\n?$/.exec(await plainText(join(top, ".git"), 4096))?.[1];
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
async function refuseNested(shadow: ShadowRepository, call: ShadowCall): Promise<void> {
  const top = topOf(shadow);
  const pointers = await listPointers(shadow, call);
  const there = await Promise.all(pointers.map((path) => isThere(join(top, path, ".git"))));
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
  await eachEntry(shadow, call, ({ mode, path }) => {
    if (mode === "160000") pointers.push(pathText(path));
  });
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
    const word = quoteWord(submodule);
    ways.push(
      `For work in the submodule alone, name it as the working directory: ${word}.`,
      `A submodule that the work does not need can be put away. Run: git submodule deinit ${word}`,
    );
  }
  if (other !== undefined) {
    const exclude = join(shadow.repository?.commonDir ?? gitDirOf(shadow), "info", "exclude");
    ways.push(
      `What does not belong to the work can be ignored. Run: echo ${quoteWord(`/${other}/`)} >> ${quoteWord(exclude)}`,
    );
  }
  return ways.join(" ");
}

function gitDirOf({ repository, folder }: ShadowRepository): string {
  return repository?.gitDir ?? folder;
}
