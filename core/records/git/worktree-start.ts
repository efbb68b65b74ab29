import { join } from "../../ground/runtime/paths.ts";
import { readSettings, type Repository } from "./find-repository.ts";
import {
  copyUserIndex,
  gitInShadow,
  makeShadow,
  makeShadowFolder,
  type ShadowRepository,
} from "./shadow-repository.ts";
import { writeWholeTree } from "./whole-tree.ts";
import { refuseNested, type WorktreeSource } from "./worktree-source.ts";

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

/** Options of {@link takeBase}. */
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
