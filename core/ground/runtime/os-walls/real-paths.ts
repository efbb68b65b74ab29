import { realpath } from "node:fs/promises";

/** Real paths of places, each looked up once. */
export class RealPaths {
  readonly #found = new Map<string, Promise<string | null>>();

  /** Returns the real path; null for a place that is missing. */
  of(path: string): Promise<string | null> {
    const known = this.#found.get(path) ?? realpath(path).catch(() => null);
    this.#found.set(path, known);
    return known;
  }
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
