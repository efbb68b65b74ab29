import type { HeldChange, HeldKind } from "../../../plugin-sdk/held.ts";

/** Entries of a folder at a session's start, by path: the inode of a folder, and the mark of a file. */
export type KnownEntries = Readonly<Record<string, number | string>>;

/** Bounds of a look. What lies beyond one is held. */
export interface LookBounds {
  /** Files and folders that are looked at. */
  entries: number;
  ms: number;
  /** Things that are found. */
  found: number;
}

/** Question to a thread: which entries of a folder were made or changed since, and are held. */
export interface LookQuestion {
  task: "look";
  /** Real absolute path. */
  top: string;
  /** Change time, by the clock of the folder's own file system, from which an entry counts as changed. */
  since: number;
  /** Entries that were there then. */
  known: KnownEntries;
  /** Absolute paths that are not looked at: the host's own. */
  skip: readonly string[];
  /** Paths, relative to the top, that git takes programs from since its settings name them. */
  named: readonly string[];
  bounds: LookBounds;
}

/** One entry that is held for what it is, or for where it lies. */
export interface FoundEntry extends Pick<HeldChange, "by" | "why"> {
  kind: HeldKind;
  /** Relative to the top, with `/`. */
  path: string;
  /** The part of the path that is the reason; the path itself for most. */
  root: string;
  type: "file" | "folder" | "link" | "other";
  /** It was certainly not there before. */
  isBorn: boolean;
  /** Text that changes with the entry; of a folder, with anything in it. Null where it could not be read. */
  mark: string | null;
  target?: string;
  files?: number;
  /** It is held for a link that it goes through. */
  isThrough?: true;
}

/** A `package.json` that changed, with the scripts that an install runs. */
export interface FoundScripts {
  path: string;
  scripts: Record<string, string>;
}

/** Answer to a {@link LookQuestion}. */
export interface LookAnswer {
  found: FoundEntry[];
  scripts: FoundScripts[];
  /** Number of files below each root that has more of them than were found. */
  unchanged: Record<string, number>;
  entries: number;
}

/** Question to a thread for texts that change with these entries. */
export interface MarkQuestion {
  task: "mark";
  top: string;
  paths: readonly string[];
}

/** Answer to a {@link MarkQuestion}; null for what cannot be read, or is not there. */
export type MarkAnswer = (string | null)[];
