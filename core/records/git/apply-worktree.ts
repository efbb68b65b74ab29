import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { HeldChange } from "../../../plugin-sdk/held.ts";
import { mkdir } from "../../ground/platform/files/files.ts";
import { runGit } from "../../ground/platform/processes/git-program.ts";
import { randomId } from "../../ground/platform/files/hash.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { type DescribedChanges, describeTrees } from "./artifacts.ts";
import { findRepository } from "./find-repository.ts";
import { gitError, namedPaths } from "./git-call.ts";
import { heldInTree, type TreeHeld, treeWithout } from "./held-in-tree.ts";
import { pathText, rawChanges } from "./raw-diff.ts";
import { restoreFiles, type Swap } from "./restore-files.ts";
import {
  copyUserIndex,
  gitInShadow,
  recordsInShadow,
  type ShadowCall,
  type ShadowRepository,
  shadowRun,
  treeOfIndex,
} from "./shadow-repository.ts";
import { writeWholeTree } from "./whole-tree.ts";
import { refuseInTheWay, swapOnDisk, treeOnDisk, writePatch, writeSwap } from "./write-swap.ts";
import { shadowOver, shadowOverWorktree, type WorktreeBase } from "./worktree-start.ts";
import { storeChangedLarge, withWorktreeIndex, withWrittenTree } from "./worktree-diff.ts";
import { removeTree } from "../../ground/platform/files/remove-tree.ts";

interface ApplyOptions {
  folder: string;
  sourceTop: string;
  signal: AbortSignal;
  /** Says which changes that can run programs are applied all the same; the others stay in the worktree. */
  takes(held: TreeHeld): boolean;
  /** Stores the swap durably before anything is written. */
  onWrite(swap: Swap): Promise<void>;
}

/** Changes that were applied, and those that were not. */
interface Applied extends DescribedChanges {
  /** Changes that can run programs, and stay in the worktree. */
  held: HeldChange[];
  /** Tree that was applied: the base for the held changes. */
  base: string;
}

/**
 * Applies the changes of a worktree to its source work tree, merged with the source's own changes since: all of it or
 * nothing, but for those that are held. Index, HEAD and branches of the repository stay as they are, so the changes show as not staged. Leaves out
 * pointers to repositories that were made in the worktree.
 * @returns the changes in the source, paths relative to its top
 * @throws {BulkheadError} `conflict` with the paths in `details.paths`, `workdir_missing`, `io_error`; the source is then
 * as it was, unless the message says otherwise
 */
export async function applyWorktree(base: WorktreeBase, options: ApplyOptions): Promise<Applied> {
  const { folder, signal } = options;
  const source = await sourceShadow(base, options);
  return await withScratch(base, async (scratch) => {
    const call = (name: string): ShadowCall => ({ index: `${scratch}/${name}`, signal });
    await mkdir(join(base.store, scratch, "empty"));
    await copyUserIndex(source, `${scratch}/ours`);
    const { tree: now, leftOut } = await writeWholeTree(source, call("ours"));
    const all = await withWrittenTree(base, { folder, signal }, ({ after }) => Promise.resolve(after.tree));
    const lost = await storeChangedLarge(source, { base, after: all, signal });
    if (lost.length > 0) throw changedThere(lost, source.workdir);
    const merging = { base: base.tree, ours: now, call, scratch };
    const { theirs, merged, held } = await mergeWithoutHeld(source, { ...merging, theirs: all, takes: options.takes });
    if (merged === now) return { artifacts: [], others: [], held, base: theirs };
    const swap = await swapOnDisk(source, { ours: now, merged, leftOut, call: call("written") });
    const written = { ...swap, call: call("written"), scratch };
    await refuseInTheWay(source, written);
    await options.onWrite(swap);
    await writeSwap(source, written);
    const described = await describeTrees(source, {
      before: { tree: now, stored: true },
      after: { tree: merged, stored: true },
      call: call("written"),
      workdir: source.workdir,
    });
    return { ...described, held, base: theirs };
  });
}

/** Looks at what a merge would bring; each time it would bring something that is held, it is made again without that. */
async function mergeWithoutHeld(
  source: ShadowRepository,
  { takes, ...options }: MergeOptions & Pick<ApplyOptions, "takes">,
): Promise<{ theirs: string; merged: string; held: HeldChange[] }> {
  const { base, ours, call } = options;
  const held = new Map<string, HeldChange>();
  let { theirs } = options;
  const without = async (before: string, after: string): Promise<boolean> => {
    const found = await heldInTree(source, { before, after, call: call("held") });
    const kept = found.filter((one) => !takes(one));
    for (const { change } of kept) held.set(change.path, change);
    const paths = kept.flatMap((one) => one.paths);
    theirs = await treeWithout(source, { before: base, after: theirs, call: call("without"), paths });
    return paths.length > 0;
  };
  await without(base, theirs);
  for (let tries = 0;; tries++) {
    const merged = await merge(source, { ...options, theirs });
    // A link of the person's own can make one of the agent's lead out.
    if (!await without(ours, merged)) return { theirs, merged, held: [...held.values()] };
    if (tries === mostMerges) {
      throw new BulkheadError("io_error", "Cannot part the changes that are held from the others.");
    }
  }
}

/** Merges of one apply: a chain of links may take one for each. */
const mostMerges = 40;

/**
 * Restores the source after an apply that was cut off while writing.
 * @throws {BulkheadError} `conflict` when one of its files has changed since, `workdir_missing`, `io_error`
 */
export async function undoApply(
  base: WorktreeBase,
  { sourceTop, signal, unfinished }: { sourceTop: string; signal: AbortSignal; unfinished: Swap },
): Promise<void> {
  const source = await sourceShadow(base, { sourceTop, signal });
  await withScratch(base, async (scratch) => {
    const call = (name: string): ShadowCall => ({ index: `${scratch}/${name}`, signal });
    await copyUserIndex(source, `${scratch}/now`);
    const whole = await writeWholeTree(source, call("now"));
    const now = await treeOnDisk(source, { ...whole, call: call("there") });
    await restoreFiles(source, { ...unfinished, now, call: call("restored") });
  });
}

/** Provides a folder below the store for the duration of an action. */
async function withScratch<T>(base: WorktreeBase, act: (scratch: string) => Promise<T>): Promise<T> {
  const scratch = `apply-${randomId()}`;
  await mkdir(join(base.store, scratch));
  try {
    return await act(scratch);
  } finally {
    await removeTree(join(base.store, scratch)).catch(() => undefined);
  }
}

async function sourceShadow(
  base: WorktreeBase,
  { sourceTop, signal }: Pick<ApplyOptions, "sourceTop" | "signal">,
): Promise<ShadowRepository> {
  const found = await findRepository({ workdir: sourceTop, signal }).catch((error: unknown) => {
    if (error instanceof BulkheadError && error.code !== "git_missing") return null;
    throw error;
  });
  if (found !== null && found.top === sourceTop) return shadowOver(base, found);
  throw new BulkheadError("workdir_missing", `The repository "${sourceTop}" is no longer there.`, {
    hint: "Move it back to its place.",
  });
}

interface MergeOptions {
  base: string;
  ours: string;
  theirs: string;
  call(name: string): ShadowCall;
  scratch: string;
}

/**
 * The tree of ours with the changes from base to theirs, made without touching any work tree.
 * @throws {BulkheadError} `conflict`
 */
async function merge(source: ShadowRepository, { base, ours, theirs, call, scratch }: MergeOptions): Promise<string> {
  const patch = await writePatch(source, { from: base, to: theirs, call: call("patch"), scratch });
  if (patch === null) return ours;
  // git looks at files beside the index: in an empty folder it finds none, and makes those it needs.
  const empty = join(source.folder, scratch, "empty");
  const merging: ShadowCall = { ...call("merged"), workTree: empty, cwd: empty };
  await gitInShadow(source, ["read-tree", ours], merging);
  const args = ["apply", "--cached", "--3way", "--whitespace=nowarn", patch];
  const outcome = await runGit(args, shadowRun(source, merging));
  if (outcome.exit_code === 0) return await treeOfIndex(source, merging);
  const unmerged = (await recordsInShadow(source, ["ls-files", "-z", "-u"], merging))
    .map((line) => pathText(line.subarray(line.indexOf(0x09) + 1)));
  const paths = unmerged.length > 0 ? unmerged : await changedByBoth(source, { base, ours, theirs, call, scratch });
  if (paths.length === 0) throw gitError(args, outcome);
  throw changedThere(paths, source.workdir);
}

async function changedByBoth(source: ShadowRepository, { base, ours, theirs, call }: MergeOptions): Promise<string[]> {
  const [here, there] = await Promise.all(
    [ours, theirs].map((to) => rawChanges(source, { from: base, to, call: call("names") })),
  );
  const names = new Set((here ?? []).map(({ path }) => pathText(path)));
  return (there ?? []).map(({ path }) => pathText(path)).filter((path) => names.has(path));
}

/** Makes the error of changes that do not fit. */
function changedThere(paths: readonly string[], top: string): BulkheadError {
  const all = [...new Set(paths)].sort();
  const named = namedPaths(all, { one: " was", many: ", were" });
  return new BulkheadError("conflict", `Cannot apply the changes to "${top}": ${named} changed there as well.`, {
    hint: "Nothing was changed. Merge by hand from the worktree, or undo the changes there and apply again.",
    details: { paths: all.slice(0, 1000) },
  });
}

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
