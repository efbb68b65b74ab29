import { isAbsolute, normalize, sep } from "../runtime/paths.ts";

/** What the named roots are in a session: `workdir`, `data`, `plugin`, `config:<tool>` → absolute path. */
export type Places = Readonly<Record<string, string>>;

/**
 * The narrower of two roots where one holds the other; null where neither does. Whole segments count, so that
 * `/data/app` does not hold `/data/app-evil`. Names without a place equal only themselves.
 */
export function meetRoots(a: string, b: string, places: Places = {}): string | null {
  if (a === b) return a;
  if (holds(a, b, places)) return b;
  return holds(b, a, places) ? a : null;
}

/** Whether one of two roots holds the other. */
export function rootsOverlap(a: string, b: string, places: Places = {}): boolean {
  return meetRoots(a, b, places) !== null;
}

/** Whether everything under `inner` is also under `outer`. */
export function holds(outer: string, inner: string, places: Places = {}): boolean {
  if (outer === inner) return true;
  const a = segments(placeOf(outer, places));
  const b = segments(placeOf(inner, places));
  return a !== null && b !== null && a.length <= b.length && a.every((part, index) => part === b[index]);
}

function placeOf(root: string, places: Places): string {
  return Object.hasOwn(places, root) ? places[root] ?? root : root;
}

function segments(path: string): string[] | null {
  if (!isAbsolute(path)) return null;
  return normalize(path).split(sep === "\\" ? /[\\/]/ : sep).filter((part) => part !== "");
}
