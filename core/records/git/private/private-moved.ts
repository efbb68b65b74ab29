import { join } from "../../../ground/platform/files/paths.ts";
import { planOf } from "./plan-take-over.ts";
import type { PrivateRecord } from "./private-record.ts";
import { type GitState, stateBefore, stateNow } from "./private-state.ts";

/**
 * Returns true when the private git folders of a session and the person's repository no longer show the same: the agent or
 * the person has moved HEAD, refs or the index since they were made.
 */
export async function privateMoved(
  { session_id: sessionId, is_worktree: isWorktree, repositories }: PrivateRecord,
  { folder, signal }: { folder: string; signal: AbortSignal },
): Promise<boolean> {
  for (const known of repositories) {
    const place = join(folder, known.name);
    const plan = await planOf(known, { place, sessionId, isWorktree, heldPath: () => null, signal });
    if (plan !== null) return true;
    const [before, now] = await Promise.all([
      stateBefore(known, place),
      stateNow({ gitDir: known.git_dir, commonDir: known.common_dir }),
    ]);
    if (!isSame(before, now)) return true;
  }
  return false;
}

function isSame(before: GitState, now: GitState): boolean {
  const own = (state: GitState) => [...state.refs.ids].filter(([name]) => !name.startsWith("refs/bulkhead/")).sort();
  return before.head === now.head && JSON.stringify(own(before)) === JSON.stringify(own(now));
}
