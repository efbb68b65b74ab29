import type { TreeHeld } from "./held-in-tree.ts";
import { heldInTree, treeWithout } from "./held-in-tree.ts";
import { restoreFiles } from "./restore-files.ts";
import { withWorktreeIndex } from "./worktree-diff.ts";
import { shadowOverWorktree, type WorktreeBase } from "./worktree-start.ts";
import { writeWorkTree } from "./write-work-tree.ts";

/** Options of {@link dropInWorktree}. */
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
  const shadow = shadowOverWorktree(base, folder);
  return await withWorktreeIndex(base, async (index) => {
    const call = { index, signal };
    const { tree: after } = await writeWorkTree(shadow, call, { storeAll: true });
    const found = await heldInTree(shadow, { before: base.tree, after, call });
    const paths = found.filter(drops).flatMap((one) => one.paths);
    const wanted = await treeWithout(shadow, { before: base.tree, after, call, paths });
    await restoreFiles(shadow, { ours: wanted, merged: after, now: null, call });
    return wanted === base.tree;
  });
}
