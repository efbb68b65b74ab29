import { join } from "../../../ground/platform/files/paths.ts";
import { changesBetween, type IndexChange } from "./index-changes.ts";
import type { PathRules } from "./look-at-commits.ts";
import { isObjectId } from "./read-refs.ts";
import type { PrivateRepository } from "./private-record.ts";
import { type GitState, type Reached, reachedBy, stateBefore, stateNow } from "./private-state.ts";

/** Changes of an agent in one private git folder. Nothing in it is believed before git has looked at the objects. */
export interface TakeOverPlan {
  known: PrivateRepository;
  place: string;
  sessionId: string;
  isWorktree: boolean;
  rules: PathRules;
  signal: AbortSignal;
  before: GitState;
  after: GitState;
  reached: Reached;
  /** Refs that are new, or name something else. */
  refs: ReadonlyMap<string, string>;
  deleted: readonly string[];
  /** Null where the agent's index cannot be read. */
  index: readonly IndexChange[] | null;
}

/** Refs that are taken over of one session. */
const mostRefs = 5000;

/**
 * Finds what differs from the beginning.
 * @returns null where nothing does
 */
export async function planOf(
  known: PrivateRepository,
  { place, sessionId, isWorktree, heldPath, signal }: Pick<PathRules, "heldPath"> & {
    place: string;
    sessionId: string;
    isWorktree: boolean;
    signal: AbortSignal;
  },
): Promise<TakeOverPlan | null> {
  const git = join(place, "git");
  const [before, after, reached] = await Promise.all([
    stateBefore(known, place),
    stateNow({ gitDir: git, commonDir: git }),
    reachedBy(place),
  ]);
  const changed = [...after.refs.ids].filter(([name, id]) => before.refs.ids.get(name) !== id).sort(byName);
  const refs = new Map(changed.slice(0, mostRefs));
  const deleted = [...before.refs.ids.keys()].filter((name) => !after.refs.ids.has(name)).sort();
  const index = changesOfIndex({ before, after, objectFormat: known.object_format });
  const old = new Set(idsOf(before));
  for (const [name, id] of reached.others) if (old.has(id)) reached.others.delete(name);
  const logged = reached.logged.filter((id) => !old.has(id));
  const isSame = refs.size === 0 && deleted.length === 0 && before.head === after.head && index?.length === 0 &&
    reached.stashes.length === 0 && reached.others.size === 0 && logged.length === 0 && !reached.isRebasing &&
    before.under.size === after.under.size && [...before.under].every(([name, text]) => after.under.get(name) === text);
  if (isSame) return null;
  const rules = { heldPath, prefix: known.prefix };
  return {
    known,
    place,
    sessionId,
    isWorktree,
    rules,
    signal,
    before,
    after,
    reached: { ...reached, logged },
    refs,
    deleted,
    index,
  };
}

function byName([a]: [string, string], [b]: [string, string]): number {
  return a < b ? -1 : 1;
}

/** Ids that a state names. */
export function idsOf({ refs, commit }: GitState): string[] {
  return [...new Set([...refs.ids.values(), ...(commit === null ? [] : [commit])])].filter(isObjectId);
}

function changesOfIndex({ before, after, objectFormat }: {
  before: GitState;
  after: GitState;
  objectFormat: string;
}): IndexChange[] | null {
  if (after.index === null) return before.index === null ? [] : null;
  return changesBetween(before.index, after.index, objectFormat);
}
