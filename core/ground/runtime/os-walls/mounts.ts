import { isBelow, isInside } from "../paths.ts";

/** One mount of a view, as arguments of bwrap. */
export interface ViewMount {
  at: string;
  args: string[];
  /** Whether it only covers what is there. */
  hides?: boolean;
  /** Whether it is an empty folder of the session's own. */
  isNew?: boolean;
}

/**
 * Leaves out read-only mounts of a place over itself where it is seen so anyway: under another such mount, or under the
 * whole disk, which the view begins with; and those that hide a place in a new folder, where nothing is, unless another
 * is mounted below it. bwrap reads the table of all mounts for each of its own, so fifty of them take 20 ms, and half of
 * them 8.
 * @param sorted each mount before those below it
 */
export function withoutNeedless(sorted: readonly ViewMount[]): ViewMount[] {
  const kept: ViewMount[] = [];
  for (const [index, mount] of sorted.entries()) {
    if (mount.hides === true) {
      const isOver = sorted.slice(index + 1).some(({ at }) => isBelow(mount.at, at));
      if (isOver || nearest(kept, mount)?.isNew !== true) kept.push(mount);
      continue;
    }
    if (!showsItself(mount)) {
      kept.push(mount);
      continue;
    }
    if (sorted.slice(index + 1).some((later) => later.at === mount.at)) continue;
    const above = nearest(kept, mount);
    if (above !== undefined && !showsItself(above)) kept.push(mount);
  }
  return kept;
}

/** The mount that a place lies in. */
function nearest(sorted: readonly ViewMount[], { at: place }: ViewMount): ViewMount | undefined {
  return sorted.findLast(({ at }) => isInside(at, place));
}

/** A place of the disk as it is there, read-only. */
function showsItself({ at, args }: ViewMount): boolean {
  return args.length === 3 && args[0] === "--ro-bind" && args[1] === at && args[2] === at;
}
