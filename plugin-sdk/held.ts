/** Kind of a change that is held: what makes it start, or reach, something outside an agent's walls. */
export type HeldKind =
  | "repository"
  | "git_settings"
  | "acted_on"
  | "link_out"
  | "set_user_id"
  | "device"
  | "unseen";

/** A change of a session that can run a program outside an agent's walls, and therefore waits for a person's word. */
export interface HeldChange {
  /**
   * Relative to the folder that the session could write, with `/`: a worktree's top, or the working directory. A folder
   * stands for all that is in it.
   */
  path: string;
  kind: HeldKind;
  /** `new`: it was not there when the session began. */
  change: "new" | "changed";
  /** Programs that act on it, in the plural. */
  by: string;
  /** One sentence: the use that they make of it. */
  why: string;
  /** Target of a link, as it is stored. */
  target?: string;
  /** Number of files that it stands for, where it is a folder. */
  files?: number;
}

/** Scripts that an install runs because a session changed a `package.json` or `binding.gyp`. They are named and not held. */
export interface InstallScripts {
  /** Relative like the path of a {@link HeldChange}. */
  path: string;
  /** Names of the scripts, for example `postinstall`, or words for what runs besides. */
  names: string[];
}

/** Held changes of one session that wait for a person's word. */
export interface SessionHeld {
  session_id: string;
  /** They are in the person's own folder, or in the session's worktree. */
  place: "inplace" | "worktree";
  /** Real absolute path of the folder that their paths are below. */
  folder: string;
  /** Since when they wait; RFC 3339, UTC. */
  at: string;
  held: HeldChange[];
}

/** Word of a person about held changes: they stay, or come to the repository; or they are undone. */
export interface HeldDecision {
  action: "apply" | "drop";
  /** Paths of the changes; default: all. */
  paths?: string[];
}

/** Outcome of a {@link HeldDecision}. */
export interface SettledHeld {
  session_id: string;
  /** Paths of the changes that it settled. */
  settled: string[];
  /** Changes that still wait. */
  held: HeldChange[];
}
