import { rename } from "../../ground/runtime/files.ts";
import { randomId } from "../../ground/runtime/hash.ts";
import { dirname, join } from "../../ground/runtime/paths.ts";
import { withDeadline } from "../git/deadline.ts";
import { headOf } from "../git/linked-worktree.ts";
import { isLike } from "../git/worktree-diff.ts";
import { workspaceTimeoutMs } from "./open-workspace.ts";
import type { WorkspaceRecord } from "./workspace-record.ts";

/**
 * Takes an unchanged worktree out of its place. It is moved away before it is looked at, so that what a person writes
 * there meanwhile is not removed with it; one that differs from its base is put back.
 * @returns whether it was taken: `removeFiles` then removes it
 * @throws {BulkheadError} `io_error`, `timeout`
 */
export async function takeUnchanged(record: WorkspaceRecord): Promise<boolean> {
  const { folder, repository: sourceTop, store, base_commit: commit, base_tree: tree } = record;
  return await withDeadline({ timeoutMs: workspaceTimeoutMs }, async (signal) => {
    if (await headOf({ folder, sourceTop, signal }) !== commit) return false;
    const moved = join(dirname(folder), `unchanged-${randomId()}`);
    await rename(folder, moved);
    const isUnchanged = await isLike({ store, commit, tree }, { folder: moved, signal }).catch(() => false);
    if (!isUnchanged) await rename(moved, folder);
    return isUnchanged;
  });
}
