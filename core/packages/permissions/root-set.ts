import { isAbsolute, normalize, sep } from "../../ground/platform/files/paths.ts";

/**
 * Named roots of a session: `workdir`, `data`, `plugin`, `config:<tool>` → absolute path. A path below `workdir` is
 * written `workdir:<path>`.
 */
export type Places = Readonly<Record<string, string>>;

/**
 * The narrower of two roots where one holds the other; null where neither does. Whole segments count, so that
 * `/data/app` does not hold `/data/app-evil`. A name without a place holds only itself, and `workdir` what is below it.
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
  const a = segments(outer, places);
  const b = segments(inner, places);
  return a !== null && b !== null && a.length <= b.length && a.every((part, index) => part === b[index]);
}

/** Parts of an absolute path, or of one below a word whose place is unknown; null for any other word. */
function segments(root: string, places: Places): string[] | null {
  const below = /^workdir:(.*)$/s.exec(root)?.[1];
  const word = below === undefined ? root : "workdir";
  const path = Object.hasOwn(places, word) ? places[word] ?? word : word;
  if (!isAbsolute(path)) return word === "workdir" ? ["workdir", ...partsOf(below ?? "")] : null;
  // An absolute path begins with an empty part: no word is one.
  return ["", ...partsOf(path), ...partsOf(below ?? "")];
}

function partsOf(path: string): string[] {
  return normalize(path).split(sep === "\\" ? /[\\/]/ : sep).filter((part) => part !== "" && part !== ".");
}
