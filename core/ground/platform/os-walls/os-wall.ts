/** Mechanisms of the operating system, outermost first. */
export const osWallNames = ["cgroup", "priority", "prlimit", "bubblewrap"] as const;

/** One of {@link osWallNames}. */
export type OsWallName = (typeof osWallNames)[number];

/** `optional`: used where the system has it; `required`: without it the plugin does not start; `off`: not used. */
type OsWallUse = "optional" | "required" | "off";

/** The operator's settings for the walls around plugins and around the agents that they start. */
export interface OsWallUses extends Record<OsWallName, OsWallUse> {
  /** `required`: programs of agents run contained or not at all; `off`: they run with all rights of the host's user. */
  agents: "required" | "off";
  /**
   * Answer for a host that a contained program calls and no grant names: `deny`, or `ask`, which sends the session's
   * client a permission request.
   */
  unknown_hosts: "deny" | "ask";
}

/** Defaults of {@link OsWallUses}. */
export const defaultOsWallUses: OsWallUses = {
  cgroup: "optional",
  priority: "optional",
  prlimit: "optional",
  bubblewrap: "optional",
  agents: "required",
  unknown_hosts: "deny",
};

/** `oom_score_adj` of an agent's programs: before the person's own, and after wardens, which start again at once. */
export const oomScore = 500;

/** A program to start. Every wall puts itself in front of it. */
export interface Command {
  /** Absolute path. */
  file: string;
  args: string[];
  /** The whole environment. */
  env: Record<string, string>;
  cwd: string;
  /** Files that stand for the namespaces in which it starts. */
  enters?: { user?: string; net?: string } | undefined;
  /** File with the filter of system calls, for bwrap as the program. */
  filter?: string | undefined;
  /**
   * Most open files of each of its processes. With it the system ends it before other programs where memory is short. For
   * bwrap as the program.
   */
  openFiles?: number | undefined;
  /**
   * For bwrap as the program: mounts over a disk that is read-only, in its words. What starts it makes them, or passes
   * them on without the links, for which bwrap has no words.
   */
  view?: readonly string[] | undefined;
}

/** Limits of a warden or a bundler. */
export interface Confinement {
  /** Megabytes of memory of the process. */
  rssMb: number;
  openFiles: number;
  /** Worker threads it may have. */
  workers: number;
  /** Seconds of processor time, after which the kernel ends it; absent: unlimited. */
  cpuSeconds?: number;
  /** Absolute paths of folders that it may read; `all` is the whole disk except the places of keys. */
  readable: readonly string[] | "all";
}

/** A command behind a wall. */
export interface WrappedCommand {
  command: Command;
  /** Removes the resources of this one process, once it is gone. Never throws. */
  release?(): Promise<void>;
}

/** Result of probing a mechanism. */
export type ProbedWall =
  | {
    active: true;
    /**
     * Puts the wall around a command.
     * @throws when the system refuses it now, though the probe worked
     */
    wrap(command: Command, confinement: Confinement): Promise<WrappedCommand>;
  }
  | MissingWall;

/** A mechanism that this machine lacks, or refuses to the host. */
export interface MissingWall {
  active: false;
  /** Set where its program is installed, and the system does not let it work. */
  refused?: true;
  /** One sentence: why it cannot be used. */
  reason: string;
  /** Help: one sentence, or lines for a shell of which each is enough. */
  remedy: string;
}

/** One mechanism of the operating system. Another system's mechanism is another file with one of these. */
export interface OsWall {
  readonly name: OsWallName;
  /** One sentence: its effect on a warden. */
  readonly does: string;
  /** One sentence: the exposure without it. */
  readonly lacks: string;
  /** Tests the mechanism by using it. Never throws. */
  probe(): Promise<ProbedWall>;
}
