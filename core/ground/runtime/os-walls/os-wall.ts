/** Mechanisms of the operating system, outermost first. */
export const osWallNames = ["cgroup", "priority", "prlimit", "bubblewrap"] as const;

/** One of {@link osWallNames}. */
export type OsWallName = (typeof osWallNames)[number];

/** `optional`: used where the system has it; `required`: without it the plugin does not start; `off`: not used. */
export type OsWallUse = "optional" | "required" | "off";

/** What the operator wants of each mechanism. */
export type OsWallUses = Record<OsWallName, OsWallUse>;

/** What holds where the operator says nothing. */
export const defaultOsWallUses: OsWallUses = {
  cgroup: "optional",
  priority: "optional",
  prlimit: "optional",
  bubblewrap: "optional",
};

/** A program to start. Every wall puts itself in front of it. */
export interface Command {
  /** Absolute path. */
  file: string;
  args: string[];
  /** The whole environment. */
  env: Record<string, string>;
  cwd: string;
}

/** What a warden or a bundler is held to. */
export interface Confinement {
  /** Megabytes of memory of the process. */
  rssMb: number;
  openFiles: number;
  /** Worker threads it may have. */
  workers: number;
  /** Seconds of processor time, after which the kernel ends it; absent: no end. */
  cpuSeconds?: number;
  /** Absolute paths of folders that it reads; `all` is the whole disk but for the places of keys. */
  readable: readonly string[] | "all";
}

/** A command behind a wall. */
export interface WrappedCommand {
  command: Command;
  /** Clears away what was made for this one process, once it is gone. Never throws. */
  release?(): Promise<void>;
}

/** What probing a mechanism found. */
export type ProbedWall =
  | {
    active: true;
    /**
     * Puts the wall around a command.
     * @throws when the system refuses it now, though it did not when it was probed
     */
    wrap(command: Command, confinement: Confinement): Promise<WrappedCommand>;
  }
  | {
    active: false;
    /** One sentence: why it cannot be used. */
    reason: string;
    /** One sentence: what to do about it. */
    remedy: string;
  };

/** One mechanism of the operating system. Another system's is another file with one of these. */
export interface OsWall {
  readonly name: OsWallName;
  /** One sentence: what it does to a warden. */
  readonly does: string;
  /** One sentence: what is open where it is missing. */
  readonly lacks: string;
  /** Really tries it. Never throws. */
  probe(): Promise<ProbedWall>;
}
