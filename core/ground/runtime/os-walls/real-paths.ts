import type { Dirent } from "node:fs";
import { lstat, readdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { foldName } from "../fold-name.ts";

/** Real paths of places, each looked up once. */
export class RealPaths {
  readonly #found = new Map<string, Promise<string | null>>();
  readonly #folders = new Map<string, Promise<boolean | null>>();

  /** Returns the real path; null for a place that is missing. */
  of(path: string): Promise<string | null> {
    const known = this.#found.get(path) ?? realpath(path).catch(() => null);
    this.#found.set(path, known);
    return known;
  }

  /** Whether a real path is a folder; null for one that is missing. */
  isFolder(real: string): Promise<boolean | null> {
    const known = this.#folders.get(real) ?? lstat(real).then((info) => info.isDirectory(), () => null);
    this.#folders.set(real, known);
    return known;
  }
}

/**
 * Returns the real paths of entries of a folder, null for a missing one. The folder is listed once; only links are then
 * followed one by one.
 * @param folder a real path
 */
export async function realEntries(folder: string, names: readonly string[]): Promise<(string | null)[]> {
  if (names.length === 0) return [];
  return await realPathsOf(folder, await readdir(folder, { withFileTypes: true }).catch(() => null), names);
}

/** As {@link realEntries}, for a folder that was listed; null for one that cannot be. */
export function realPathsOf(
  folder: string,
  entries: readonly Dirent[] | null,
  names: readonly string[],
): Promise<(string | null)[]> {
  const plain = new Set(entries?.filter((entry) => !entry.isSymbolicLink()).map(({ name }) => name));
  // A file system may find a name under another spelling.
  const listed = new Set(entries?.map(({ name }) => foldName(name)));
  return Promise.all(names.map((name) => {
    const path = join(folder, name);
    if (plain.has(name)) return path;
    return entries === null || listed.has(foldName(name)) ? realpath(path).catch(() => null) : null;
  }));
}

/** How long the places of the machine count as looked up. Milliseconds. */
const freshMs = 1000;

let shared = { since: -Infinity, paths: new RealPaths() };

/**
 * Real paths of places that no program writes: those that start together look them up once. There are a hundred in a
 * view, and a session's view stands as long as the session does.
 */
export function pathsOfMachine(): RealPaths {
  const now = performance.now();
  if (now - shared.since > freshMs) shared = { since: now, paths: new RealPaths() };
  return shared.paths;
}
