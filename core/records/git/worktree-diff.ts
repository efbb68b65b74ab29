import { joinBytes } from "../../ground/platform/files/join-bytes.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { HeldChange } from "../../../plugin-sdk/held.ts";
import type { WorktreeDiff } from "../../../plugin-sdk/workspace.ts";
import { copyWithTime } from "../../ground/platform/files/copy-with-time.ts";
import { rm } from "../../ground/platform/files/files.ts";
import { type GitRunOptions, runGit } from "../../ground/platform/processes/git-program.ts";
import { randomId } from "../../ground/platform/files/hash.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { describeTrees, omittedCount } from "./artifacts.ts";
import { gitError } from "./git-call.ts";
import { heldInTree, type TreeHeld, treeWithout } from "./held-in-tree.ts";
import { largeOf, missingLarge, storeLarge } from "./large-files.ts";
import { pathText, rawChanges } from "./raw-diff.ts";
import { type ShadowCall, type ShadowRepository, shadowRun } from "./shadow-repository.ts";
import { baseIndex, shadowOver, shadowOverWorktree, type WorktreeBase } from "./worktree-start.ts";
import { type WorkTree, writeWorkTree } from "./write-work-tree.ts";
import { restoreFiles } from "./restore-files.ts";

/** Bytes of a patch that is handed out, and of one file's patch with all its lines. */
const patchBytes = 64 * 1024 * 1024;
const filePatchBytes = 4 * 1024 * 1024;

/** Narrows a diff. */
export interface DiffChoice {
  /** One changed file, from the top of the repository: its patch alone, with all lines of the file, and no lists. */
  path?: string | undefined;
}

/**
 * Compares what lies in a worktree, committed or not, with its base.
 * @throws {BulkheadError} `too_large` for a patch of more than 64 MiB, or 4 MiB of one file; `not_found` for a file that
 * did not change; `io_error`
 */
export async function worktreeDiff(
  base: WorktreeBase,
  { folder, sourceTop, signal, path }: { folder: string; sourceTop: string; signal: AbortSignal } & DiffChoice,
): Promise<WorktreeDiff> {
  return await withWrittenTree(base, { folder, signal }, async ({ shadow, call, after }) => {
    const before = { tree: base.tree, stored: true };
    const source = shadowOver(base, { top: sourceTop, gitDir: shadow.folder });
    const lost = await storeChangedLarge(source, { base, after: after.tree, signal });
    if (lost.length > 0) throw notShown(lost[0]!);
    const run = shadowRun(shadow, call);
    if (path !== undefined) {
      return { patch: await readFilePatch([base.tree, after.tree], { path, run }), artifacts: [], held: [] };
    }
    const patch = await readPatch([...patchArgs, base.tree, after.tree], run);
    const { artifacts, others } = await describeTrees(shadow, { before, after, call, workdir: folder });
    const held = await heldInTree(shadow, { before: base.tree, after: after.tree, call });
    return { patch, artifacts, ...omittedCount(others), held: held.map(({ change }) => change) };
  });
}

function notShown(path: string): BulkheadError {
  return new BulkheadError("too_large", `Cannot show the changes of "${path}": it was too large to keep what it was.`, {
    hint: "Look at the files in the worktree itself.",
  });
}

/**
 * Stores the large files of a base that differ in another tree, as the source has them now.
 * @returns those whose content in the base is found nowhere
 */
export async function storeChangedLarge(
  source: ShadowRepository,
  { base, after, signal }: { base: WorktreeBase; after: string; signal: AbortSignal },
): Promise<string[]> {
  const large = new Set(await largeOf(base.store));
  if (large.size === 0) return [];
  const call = { index: baseIndex, signal };
  const changes = await rawChanges(shadowOver(base, { top: base.store, gitDir: base.store }), {
    from: base.tree,
    to: after,
    call,
  });
  const paths = changes.map(({ path }) => pathText(path)).filter((path) => large.has(path));
  if (paths.length === 0) return [];
  await storeLarge(source, { paths, call });
  const here = { ...call, cwd: base.store, workTree: base.store };
  return await missingLarge(source, { paths, call: here });
}

/**
 * Finds which changes of a worktree are held.
 * @throws {BulkheadError} `io_error`
 */
export async function heldInWorktree(
  base: WorktreeBase,
  { folder, signal }: { folder: string; signal: AbortSignal },
): Promise<HeldChange[]> {
  return await withWrittenTree(base, { folder, signal }, async ({ shadow, call, after }) => {
    return (await heldInTree(shadow, { before: base.tree, after: after.tree, call })).map(({ change }) => change);
  });
}

/**
 * Tells whether a folder has the content of a base, ignored files aside.
 * @throws {BulkheadError} `io_error`
 */
export async function isLike(
  base: WorktreeBase,
  { folder, signal }: { folder: string; signal: AbortSignal },
): Promise<boolean> {
  return await withWrittenTree(base, { folder, signal }, ({ after }) => Promise.resolve(after.tree === base.tree));
}

/** How a patch is written that `git apply` takes: no program of the repository's config has a say. */
export const patchArgs: readonly string[] = [
  "diff-tree",
  "-r",
  "-p",
  "--binary",
  "--full-index",
  "--no-renames",
  "--no-ext-diff",
  "--no-textconv",
  "--no-color",
  "--src-prefix=a/",
  "--dst-prefix=b/",
];

/** Tree of what lies in a worktree, and the call with which more is asked about it. */
interface WrittenTree {
  shadow: ShadowRepository;
  call: ShadowCall;
  after: WorkTree;
}

/** Does something with the tree of what lies in a worktree. */
export async function withWrittenTree<T>(
  base: WorktreeBase,
  { folder, signal }: { folder: string; signal: AbortSignal },
  act: (written: WrittenTree) => Promise<T>,
): Promise<T> {
  const shadow = shadowOverWorktree(base, folder);
  return await withWorktreeIndex(base, async (index) => {
    const call = { index, signal };
    return await act({ shadow, call, after: await writeWorkTree(shadow, call, { storeAll: true }) });
  });
}

/** Does something with a copy of the base's index, which knows each unchanged file by its time and size. */
export async function withWorktreeIndex<T>(
  base: WorktreeBase,
  act: (index: string) => Promise<T>,
): Promise<T> {
  const index = `index-${randomId()}`;
  try {
    await copyWithTime(join(base.store, baseIndex), join(base.store, index));
    return await act(index);
  } finally {
    await rm(join(base.store, index), { force: true }).catch(() => undefined);
  }
}

/** More lines than any file has that is shown. */
const allLines = "-U1000000";

async function readFilePatch(
  trees: readonly string[],
  { path, run }: { path: string; run: GitRunOptions },
): Promise<Uint8Array> {
  const patch = await readPatch([...patchArgs, allLines, ...trees, "--", path], run, filePatchBytes);
  if (patch.byteLength > 0) return patch;
  throw new BulkheadError("not_found", `Cannot show the lines of "${path}": it did not change.`, {
    hint: "Ask for the diff without path to see which files did.",
  });
}

async function readPatch(args: readonly string[], run: GitRunOptions, most = patchBytes): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const outcome = await runGit(args, {
    ...run,
    onStdout(chunk) {
      bytes += chunk.byteLength;
      if (bytes <= most) chunks.push(chunk);
    },
  });
  if (outcome.exit_code !== 0) throw gitError(args, outcome);
  if (bytes > most) {
    throw new BulkheadError("too_large", `The patch has ${bytes} bytes, and at most ${most} are shown.`, {
      hint: "Look at the files in the worktree itself. Applying it is possible all the same.",
    });
  }
  return joinBytes(chunks);
}

interface DropOptions {
  folder: string;
  signal: AbortSignal;
  /** Says which held changes are undone. */
  drops(held: TreeHeld): boolean;
}

/**
 * Undoes held changes in a worktree: their paths are as in its base again.
 * @returns whether nothing differs from the base any more
 * @throws {BulkheadError} `io_error`
 */
export async function dropInWorktree(base: WorktreeBase, { folder, signal, drops }: DropOptions): Promise<boolean> {
  return await withWrittenTree(base, { folder, signal }, async ({ shadow, call, after: { tree: after } }) => {
    const found = await heldInTree(shadow, { before: base.tree, after, call });
    const paths = found.filter(drops).flatMap((one) => one.paths);
    const wanted = await treeWithout(shadow, { before: base.tree, after, call, paths });
    await restoreFiles(shadow, { ours: wanted, merged: after, now: null, call });
    return wanted === base.tree;
  });
}
