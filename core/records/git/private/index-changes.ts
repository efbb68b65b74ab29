import { asBuffer } from "../../../ground/platform/files/as-buffer.ts";
import { type IndexEntry, readDifferences, readIndexEntries } from "./index-entries.ts";

/** A change of an index at one stage of one path; null: the entry is gone. */
export type IndexChange = readonly [key: string, entry: IndexEntry | null];

/**
 * Lists the differences of two indexes, except marks of files that a sparse checkout leaves out.
 * @returns null where one of them cannot be read
 */
export function changesBetween(
  before: Uint8Array | null,
  after: Uint8Array,
  objectFormat: string,
): IndexChange[] | null {
  if (before === null) {
    const entries = readIndexEntries(after, objectFormat);
    return entries === null ? null : [...entries];
  }
  // One that cannot be read, and that nothing has changed, may stay as it is.
  if (asBuffer(before).equals(after)) return [];
  const differing = readDifferences(before, after, objectFormat);
  if (differing === null) return null;
  const changes: IndexChange[] = [];
  for (const [key, entry] of differing.after) {
    if (!isSame(differing.before.get(key), entry)) changes.push([key, entry]);
  }
  for (const key of differing.before.keys()) if (!differing.after.has(key)) changes.push([key, null]);
  return changes;
}

/**
 * Finds why changes that were made to one index do not fit to those that were made to it elsewhere: a path that both have
 * changed, or a file where the other has a folder.
 * @returns null where they fit
 */
export function misfit(ours: readonly IndexChange[], theirs: readonly IndexChange[]): string | null {
  const others = new Map(theirs);
  const pathsOf = (changes: readonly IndexChange[]) =>
    new Set(changes.filter(([, entry]) => entry !== null).map(([key]) => key.slice(2)));
  for (const [key, entry] of ours) {
    const other = others.get(key);
    if (other !== undefined && !isSame(other ?? undefined, entry ?? undefined)) return key.slice(2);
  }
  const [mine, foreign] = [pathsOf(ours), pathsOf(theirs)];
  for (const path of mine) if (foldersOf(path).some((folder) => foreign.has(folder))) return path;
  for (const path of foreign) if (foldersOf(path).some((folder) => mine.has(folder))) return path;
  return null;
}

/** Writes changes as `git update-index --index-info` reads them, ended by NUL. */
export function indexInfo(changes: readonly IndexChange[]): Uint8Array {
  const none = (id: string) => "0".repeat(id.length);
  const some = changes.find(([, entry]) => entry !== null)?.[1]?.id ?? "0".repeat(40);
  const lines = changes.map(([key, entry]) => {
    const path = key.slice(2);
    return entry === null ? `0 ${none(some)}\t${path}\0` : `${entry.mode} ${entry.id} ${entry.stage}\t${path}\0`;
  });
  // Removals come first: a file may have taken the place of a folder.
  lines.sort((a, b) => Number(b.startsWith("0 ")) - Number(a.startsWith("0 ")));
  return Uint8Array.from(lines.join(""), (one) => one.charCodeAt(0));
}

function isSame(a: IndexEntry | undefined, b: IndexEntry | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.id === b.id && a.mode === b.mode && a.isIntended === b.isIntended;
}

function foldersOf(path: string): string[] {
  const parts = path.split("/");
  return parts.slice(1).map((_, at) => parts.slice(0, at + 1).join("/"));
}
