import { checkedOut } from "./checked-out.ts";
import { heldChange } from "./look-at-commits.ts";
import { pathOf } from "./index-entries.ts";
import type { HeadMove } from "./move-head.ts";
import type { TakeOverPlan } from "./plan-take-over.ts";
import { symbolicTarget } from "./read-refs.ts";

/** Why HEAD, its branch and the index do not move. */
interface HeadRefusal {
  because: string;
  isHeld: boolean;
}

/** Answers about objects that were taken. */
interface Answers {
  /** Why an object cannot be used; null where it can. */
  lost(id: string): string | null;
  /** Why the commits up to one must be looked at first; null where they need not be. */
  held(tip: string): Promise<string | null>;
}

/** Files that say that a merge is under way. */
const merging = ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"];

/** Makes the step of HEAD, branch and index that follows from what the agent did, or says why there is none. */
export async function headStep(plan: TakeOverPlan, answers: Answers): Promise<HeadMove | HeadRefusal> {
  const { known, place, sessionId, signal, before, after, index } = plan;
  const because = await refusal(plan, answers);
  if (because !== null) return because;
  const target = symbolicTarget(after.head);
  const isDetached = target === null || plan.isWorktree && symbolicTarget(before.head) === null;
  const old = target === null ? null : before.refs.ids.get(target) ?? null;
  const updates = isDetached || after.commit === null || after.commit === old
    ? []
    : [`update ${target} ${after.commit} ${old ?? "0".repeat(after.commit.length)}`];
  return {
    known,
    place,
    sessionId,
    before,
    head: isDetached ? after.commit! : after.head,
    updates,
    index: index!,
    ended: merging.concat("MERGE_MODE", "MERGE_MSG").filter((name) => before.under.has(name) && !after.under.has(name)),
    signal,
  };
}

async function refusal(plan: TakeOverPlan, { lost, held }: Answers): Promise<HeadRefusal | null> {
  const { known, before, after, reached, index, rules } = plan;
  const no = (because: string, isHeld = false): HeadRefusal => ({ because, isHeld });
  if (reached.isRebasing) return no("the agent left a rebase half done");
  const isMerging = merging.some((name) => after.under.has(name) && before.under.get(name) !== after.under.get(name));
  if (isMerging) return no("the agent left a merge half done");
  if (index === null) return no("the agent's index cannot be read");
  const target = symbolicTarget(after.head);
  const start = symbolicTarget(before.head);
  if (target === null && start !== null) return no("HEAD names no branch there");
  if (target !== null && !target.startsWith("refs/heads/")) return no("HEAD names no branch there");
  if (after.commit === null && before.commit !== null) return no("its branch has no commit there");
  if (after.commit === null && target !== start) return no("its branch has no commit there");
  if (plan.isWorktree && start !== null) return no("branches of the repository stay as they are");
  const isOther = target !== null && target !== start && !plan.isWorktree;
  const user = isOther ? (await checkedOut(known.common_dir)).get(target) : undefined;
  if (user !== undefined && user !== known.git_dir) {
    return no("its branch is checked out in another worktree");
  }
  const ids = index.flatMap(([, entry]) => entry === null || entry.mode === "160000" ? [] : [entry.id]);
  for (const id of [...(after.commit === null ? [] : [after.commit]), ...ids]) {
    const because = lost(id);
    if (because !== null) return no(because);
  }
  const commits = after.commit === null || after.commit === before.commit ? null : await held(after.commit);
  if (commits !== null) return no(commits, true);
  for (const [key, entry] of index) {
    const isKnown = entry?.mode === "160000" && known.pointers.includes(pathOf(key));
    const because = isKnown ? null : heldChange(pathOf(key), { mode: entry?.mode ?? null, rules });
    if (because !== null) return no(because, true);
  }
  return null;
}
