import { isBelow } from "../../ground/platform/files/paths.ts";

interface Active {
  workdir: string;
  /** Sessions that were active at the same time in an overlapping folder. */
  others: Set<string>;
}

/** Most ids kept for one session, however many others come and go during a long one. */
const mostOthers = 100;

/**
 * Tracks the folders in which a host's sessions are active. git says what changed in a folder, not who changed it: when
 * two sessions work at the same time in one folder, or one in a folder inside the other's, each learns of the other.
 */
export class SharedWorkdirs {
  readonly #active = new Map<string, Active>();

  /** Records that a session may change files below a real absolute path from now on. */
  enter(sessionId: string, workdir: string): void {
    const entering: Active = { workdir, others: new Set() };
    for (const [id, active] of this.#active) {
      if (!pathsOverlap(workdir, active.workdir)) continue;
      if (active.others.size < mostOthers) active.others.add(sessionId);
      if (entering.others.size < mostOthers) entering.others.add(id);
    }
    this.#active.set(sessionId, entering);
  }

  /** Returns the ids of the sessions that have shared a folder with this one until now, sorted; at most 100. */
  sharedWith(sessionId: string): string[] {
    return [...this.#active.get(sessionId)?.others ?? []].sort();
  }

  /** Records that a session changes nothing any more; call it after listing the session's artifacts. */
  leave(sessionId: string): void {
    this.#active.delete(sessionId);
  }
}

/** Returns true for two absolute paths that are equal, or of which one contains the other. */
export function pathsOverlap(one: string, other: string): boolean {
  return one === other || isBelow(one, other) || isBelow(other, one);
}
