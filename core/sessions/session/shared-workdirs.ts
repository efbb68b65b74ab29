import { isBelow } from "../../ground/runtime/paths.ts";

/** One session, while it may change files. */
interface Active {
  workdir: string;
  /** Sessions that were active at the same time in a folder that overlaps. */
  others: Set<string>;
}

/** Ids kept for one session: enough to say it, and no more however many come and go beside a long one. */
const mostOthers = 100;

/**
 * Which sessions of a host are active in which folders. git says what changed in a folder, not who changed it: where
 * two sessions were in one folder, or one in a folder of the other's, at the same time, each is told of the other.
 */
export class SharedWorkdirs {
  readonly #active = new Map<string, Active>();

  /** A session may change files below a real absolute path from now on. */
  enter(sessionId: string, workdir: string): void {
    const entering: Active = { workdir, others: new Set() };
    for (const [id, active] of this.#active) {
      if (!pathsOverlap(workdir, active.workdir)) continue;
      if (active.others.size < mostOthers) active.others.add(sessionId);
      if (entering.others.size < mostOthers) entering.others.add(id);
    }
    this.#active.set(sessionId, entering);
  }

  /** Ids of the sessions with which this one has shared its folder until now, sorted; at most 100. */
  sharedWith(sessionId: string): string[] {
    return [...this.#active.get(sessionId)?.others ?? []].sort();
  }

  /** A session changes nothing any more; to be called once its artifacts are listed. */
  leave(sessionId: string): void {
    this.#active.delete(sessionId);
  }
}

/** True for two absolute paths that are one, or of which one lies in the other. */
export function pathsOverlap(one: string, other: string): boolean {
  return one === other || isBelow(one, other) || isBelow(other, one);
}
