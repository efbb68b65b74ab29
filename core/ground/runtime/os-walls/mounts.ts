import { isInside } from "../paths.ts";

/** One mount of a view, as arguments of bwrap. */
export interface ViewMount {
  at: string;
  args: string[];
}

/**
 * Leaves out read-only mounts of a place over itself where it is seen so anyway: under another such mount, or under the
 * whole disk, which the view begins with. bwrap reads the table of all mounts for each of its own, so fifty of them take
 * 20 ms, and half of them 8.
 * @param sorted each mount before those below it
 */
export function withoutNeedless(sorted: readonly ViewMount[]): ViewMount[] {
  const kept: ViewMount[] = [];
  for (const [index, mount] of sorted.entries()) {
    if (!showsItself(mount)) {
      kept.push(mount);
      continue;
    }
    if (sorted.slice(index + 1).some((later) => later.at === mount.at)) continue;
    const above = kept.findLast(({ at }) => isInside(at, mount.at));
    if (above !== undefined && !showsItself(above)) kept.push(mount);
  }
  return kept;
}

/** A place of the disk as it is there, read-only. */
function showsItself({ at, args }: ViewMount): boolean {
  return args.length === 3 && args[0] === "--ro-bind" && args[1] === at && args[2] === at;
}
