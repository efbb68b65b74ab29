import { dirname, isBelow, wayUp } from "../../ground/platform/files/paths.ts";

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
  const all = sorted.map((mount) => ({ mount, way: wayUp(mount.at) }));
  const holding = new Set(all.flatMap(({ way }) => way.slice(1)));
  const last = new Map(all.map(({ mount, way }) => [way[0], mount]));
  const kept = new Map<string, ViewMount>();
  return all.flatMap(({ mount, way }) => {
    const around = way.map((folder) => kept.get(folder)).find((found) => found !== undefined);
    const isNeeded = mount.hides === true
      ? holding.has(way[0]!) || around?.isNew !== true
      : !showsItself(mount) || last.get(way[0]) === mount && around !== undefined && !showsItself(around);
    if (isNeeded) kept.set(way[0]!, mount);
    return isNeeded ? [mount] : [];
  });
}

/** A place of the disk as it is there, read-only. */
function showsItself({ at, args }: ViewMount): boolean {
  return args.length === 3 && args[0] === "--ro-bind" && args[1] === at && args[2] === at;
}

/** Folders between places and the writable folder around them: who moves one away makes another in its place. */
export function parentsOf(places: readonly string[], writable: readonly string[]): string[] {
  const inside = (path: string) => writable.some((top) => isBelow(top, path));
  return [...new Set(places.filter(inside).flatMap((place) => wayUp(place).slice(1)))].filter(inside);
}

/** Places of a project that are mounted one by one. */
export const mostPlaces = 200;

/**
 * Leaves at most {@link mostPlaces}: of more, those that share a folder count as that folder, the fullest first. Places at
 * the top stay as many as they are, since nothing holds them but the project.
 * @param top the project
 */
export function gathered(places: readonly string[], top: string): string[] {
  let left = [...new Set(places)];
  while (left.length > mostPlaces) {
    const counts = new Map<string, number>();
    for (const folder of left.map((path) => dirname(path)).filter((path) => isBelow(top, path))) {
      counts.set(folder, (counts.get(folder) ?? 0) + 1);
    }
    const most = [...counts.values()].reduce((a, b) => Math.max(a, b), 0);
    if (most === 0) return left;
    // Where each place has a folder of its own, the deepest folders come first.
    const size = (folder: string) => most > 1 ? counts.get(folder) ?? 0 : wayUp(folder).length;
    const largest = [...counts.keys()].reduce((a, folder) => Math.max(a, size(folder)), 0);
    const full = new Set([...counts.keys()].filter((folder) => size(folder) === largest));
    left = [...new Set(left.map((path) => full.has(dirname(path)) ? dirname(path) : path))];
  }
  return left;
}
