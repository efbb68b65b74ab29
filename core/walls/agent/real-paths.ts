import type { Dirent } from "node:fs";
import { lstat, readdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { foldName } from "../../ground/platform/files/fold-name.ts";

/** Real paths of places, each looked up once. */
export class RealPaths {
  readonly #found = new Map<string, Promise<string | null>>();
  readonly #folders = new Map<string, Promise<boolean | null>>();
  readonly #missing = new Set<string>();
  readonly #failed: (error: unknown, path: string) => null;

  /** @param closed whether places that cannot be looked up count as missing: those that no program of a session can open */
  constructor({ closed = "refused" }: { closed?: "refused" | "missing" } = {}) {
    this.#failed = closed === "missing" ? () => null : nullIfMissing;
  }

  /**
   * Returns the real path; null for a place that is missing.
   * @throws {BulkheadError} `io_error` for one in a closed folder
   */
  of(path: string): Promise<string | null> {
    return this.#found.get(path) ?? this.#lookUp(path);
  }

  /** Whether a place was looked up and is missing: there is no path to wait for. */
  isMissing(path: string): boolean {
    return this.#missing.has(path);
  }

  #lookUp(path: string): Promise<string | null> {
    const looked = realpath(path).catch((error: unknown) => {
      const missing = this.#failed(error, path);
      this.#missing.add(path);
      return missing;
    });
    this.#found.set(path, looked);
    return looked;
  }

  /** As {@link RealPaths.of}: whether a real path is a folder; null for one that is missing. */
  isFolder(real: string): Promise<boolean | null> {
    const known = this.#folders.get(real) ??
      lstat(real).then((info) => info.isDirectory(), (error: unknown) => this.#failed(error, real));
    this.#folders.set(real, known);
    return known;
  }
}

/**
 * Null for the error of a place that is missing. One that cannot be looked up is not missing: an agent may have closed a
 * folder of the project, so that what is in it would be forgotten and left to it the next time.
 * @throws {BulkheadError} `io_error` for any other
 */
export function nullIfMissing(error: unknown, path: string): null {
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
  if (["ENOENT", "ENOTDIR", "ELOOP"].includes(code)) return null;
  throw new BulkheadError("io_error", `Cannot look up what to keep from an agent at "${path}": ${code}.`, {
    hint: `An agent may have closed it, or the folder above it. Look into it, and open it again: chmod u+rwx "${path}"`,
    details: { path, reason: code },
  });
}

/**
 * Lists a folder in which there may be something to keep from an agent; a missing one is empty.
 * @throws {BulkheadError} `io_error` for one that is closed
 */
export async function entriesOf(folder: string): Promise<Dirent[]> {
  return await readdir(folder, { withFileTypes: true }).catch((error: unknown) => nullIfMissing(error, folder)) ?? [];
}

/**
 * Returns the real paths of entries of a folder, null for a missing one. The folder is listed once; only links are then
 * followed one by one.
 * @param folder a real path
 * @throws {BulkheadError} as {@link entriesOf}
 */
export async function realEntries(folder: string, names: readonly string[]): Promise<(string | null)[]> {
  if (names.length === 0) return [];
  const entries = await entriesOf(folder);
  const plain = new Set(entries.filter((entry) => !entry.isSymbolicLink()).map(({ name }) => name));
  // A file system may find a name under another spelling.
  const listed = new Set(entries.map(({ name }) => foldName(name)));
  return await Promise.all(names.map((name) => {
    const path = join(folder, name);
    if (plain.has(name)) return path;
    if (!listed.has(foldName(name))) return null;
    return realpath(path).catch((error: unknown) => nullIfMissing(error, path));
  }));
}

/** How long the places of the machine count as looked up. Milliseconds. */
const freshMs = 1000;

let shared = { since: -Infinity, paths: new RealPaths({ closed: "missing" }) };

/**
 * Real paths of places that no program writes: those that start together look them up once. There are a hundred in a
 * view, and a session's view stands as long as the session does.
 */
export function pathsOfMachine(): RealPaths {
  const now = performance.now();
  if (now - shared.since > freshMs) shared = { since: now, paths: new RealPaths({ closed: "missing" }) };
  return shared.paths;
}
