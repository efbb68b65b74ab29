import { listOf } from "./json-fields.ts";

/** Returns the value at a path such as `a.b.0.c`; undefined when the path leads nowhere. Ignores inherited members. */
export function readPath(data: unknown, path: string): unknown {
  let value = data;
  for (const key of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    // `length` is an array's own property, but no JSON field.
    if (Array.isArray(value) && key === "length") return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}

/**
 * Returns the pattern of the entries that a path goes through: `a.*.b.*` for `a.*.b.*.c`. Empty, which stands for the
 * line as a whole, for a path without `*`.
 */
export function entriesIn(path: string): string {
  const parts = path.split(".");
  return parts.slice(0, parts.lastIndexOf("*") + 1).join(".");
}

/** Returns the path of each entry that the pattern stands for: `a.0.b.0`, `a.0.b.1` and so on for `a.*.b.*`. */
export function entriesOf(data: unknown, pattern: string): string[] {
  if (pattern === "") return [""];
  const parts = pattern.split(".");
  const outer = parts.slice(0, -1);
  return entriesOf(data, entriesIn(outer.join("."))).flatMap((entry) => {
    const list = atEntry(outer.join("."), entry);
    return listOf(list === "" ? data : readPath(data, list)).map((_one, at) => list === "" ? `${at}` : `${list}.${at}`);
  });
}

/** Replaces each `*` of a path with an index of the entry. */
export function atEntry(path: string, entry: string): string {
  if (!path.includes("*")) return path;
  const indexes = entry.split(".");
  return path.split(".").map((part, at) => (part === "*" ? indexes[at] ?? part : part)).join(".");
}

/** Paths of entries, which tells whether one of them contains another. The empty path contains all. */
export class EntrySet {
  readonly #entries = new Set<string>();
  readonly #around = new Set<string>();

  get size(): number {
    return this.#entries.size;
  }

  add(entry: string): void {
    this.#entries.add(entry);
    for (const outer of outerPaths(entry)) this.#around.add(outer);
  }

  /** Returns true if the entry, one that contains it, or one inside it is in the set. */
  touches(entry: string): boolean {
    return this.#entries.has(entry) || this.#around.has(entry) ||
      outerPaths(entry).some((outer) => this.#entries.has(outer));
  }
}

/** Returns the paths that a path begins with, the empty one included. */
function outerPaths(path: string): string[] {
  if (path === "") return [];
  const parts = path.split(".");
  return parts.map((_part, at) => parts.slice(0, at).join("."));
}
