import { join } from "../../ground/runtime/paths.ts";
import { readSettings, type Repository } from "./find-repository.ts";
import { copyUserIndex, gitInShadow, makeShadow, type ShadowRepository } from "./shadow-repository.ts";
import { writeWholeTree } from "./whole-tree.ts";
import { refuseNested, type WorktreeSource } from "./worktree-source.ts";

/** What a worktree starts from, kept on disk. All of it is text, so that a record can hold it. */
export interface WorktreeBase {
  /** Git folder of our own, which holds what was not committed and borrows the rest. */
  store: string;
  /** The source's HEAD. */
  commit: string;
  /** Tree of HEAD with all changes and untracked files of the source on top. */
  tree: string;
}

/** Name of the index in the store that goes with the base's tree. */
export const baseIndex = "index-base";

/** What {@link takeBase} is told. */
export interface TakeBaseOptions {
  /** Real absolute path of an existing folder, in which the store is made. */
  folder: string;
  /** Real absolute paths to leave out. */
  exclude?: readonly string[];
  signal: AbortSignal;
}

/**
 * Keeps what a person sees in a repository's work tree: HEAD and all that is not committed, tracked or not, but for
 * what is ignored. Nothing of the repository is written.
 * @throws {BulkheadError} `unsupported`, `io_error`
 */
export async function takeBase(
  { repository, commit }: WorktreeSource,
  { folder, exclude = [], signal }: TakeBaseOptions,
): Promise<WorktreeBase> {
  const whole = wholeOf(repository);
  const settings = await readSettings({ workdir: whole.top, signal });
  const shadow = await makeShadow({ workdir: whole.top, repository: whole, scratchDir: folder, exclude, settings });
  const call = { index: baseIndex, signal };
  await copyUserIndex(shadow, baseIndex);
  const tree = await writeWholeTree(shadow, call);
  await refuseNested(shadow, call);
  // The worktree's own index becomes a copy of it, and half of a split one stays behind.
  await gitInShadow(shadow, ["-c", "core.splitIndex=false", "update-index", "--no-split-index"], call);
  return { store: shadow.folder, commit, tree };
}

/** A base's store as the shadow of a work tree: of the source, or of the worktree that was made of it. */
export function shadowOver({ store }: WorktreeBase, repository: Pick<Repository, "top" | "gitDir">): ShadowRepository {
  const { top, gitDir } = repository;
  // The store's own config says which ids it has, and its alternates where else objects are.
  return { folder: store, workdir: top, repository: { top, gitDir, prefix: "", commonDir: gitDir, objectFormat: "" } };
}

/** A base's store as the shadow of its worktree, whatever the agent has made of the `.git` there. */
export function shadowOverWorktree(base: WorktreeBase, folder: string): ShadowRepository {
  return shadowOver(base, { top: folder, gitDir: join(base.store, "none") });
}

/** The whole repository, though the working directory be a part of it. */
export function wholeOf(repository: Repository): Repository {
  return { ...repository, prefix: "" };
}
