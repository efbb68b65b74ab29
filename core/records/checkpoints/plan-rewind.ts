import { pathKey } from "../git/git-call.ts";
import { pathText } from "../git/raw-diff.ts";
import { pointer } from "../git/private/index-entries.ts";
import type { OpenTurn } from "./turn-files.ts";
import { type BlobChange, type BlobEntry, foldersOf, isSameEntry } from "./blob-changes.ts";

/** One step of a line of trees: what a turn changed, or what was changed before the next one by others. */
export interface LineStep {
  /** Number of the turn; null for changes outside any turn. */
  turn: number | null;
  changes: readonly BlobChange[];
  /** The changed paths that are not, or not surely, the agent's. */
  open: OpenTurn;
}

/** Everything that a plan is made from: the steps since the moment that files go back to, in their order. */
export interface RewindFacts {
  steps: readonly LineStep[];
  /** Whether unclaimed paths are taken back as well. */
  takesUnclaimed: boolean;
  others: readonly Uint8Array[];
  /** How the file system reads names: as they are, or without regard to case and composition. */
  names: "exact" | "folding";
}

/** A path that goes back. */
export interface PathBack {
  path: Uint8Array;
  now: BlobEntry | null;
  /** The entry that comes back; null: it is removed. */
  back: BlobEntry | null;
}

interface PlannedPaths {
  back: PathBack[];
  /** Changed by the agent and by others: they stay as they are. */
  conflicts: Uint8Array[];
  /** Changed within turns, and nothing shows that the agent did it: they stay as they are. */
  unclaimed: Uint8Array[];
  /** In repositories within the work tree, or there before and ignored then: they stay as they are. */
  left: Uint8Array[];
}

interface Path {
  path: Uint8Array;
  /** Before the first of the agent's changes. */
  back: BlobEntry | null;
  isMine: boolean;
  isTheirs: boolean;
  isUnclaimed: boolean;
  /** A pointer to a repository, or something that was there before, unseen. */
  isApart: boolean;
  now: BlobEntry | null;
}

/**
 * Decides which paths go back, and to what. A path of the agent's that others changed too, before or since, is a
 * conflict; so is a folder with a file of the other's in it.
 */
export function planRewind({ steps, takesUnclaimed, others, names }: RewindFacts): PlannedPaths {
  const paths = new Map<string, Path>();
  for (const { turn, changes, open } of steps) {
    for (const { path, old, new: now } of changes) {
      const key = pathKey(path);
      const isUnclaimed = turn !== null && !takesUnclaimed && (open === "all" || open.unclaimed.has(key));
      const isMine = turn !== null && !isUnclaimed;
      const known = paths.get(key) ??
        { path, back: old, isMine: false, isTheirs: false, isUnclaimed: false, isApart: false, now: old };
      paths.set(key, known);
      if (isMine && !known.isMine) known.back = old;
      known.isMine ||= isMine;
      known.isTheirs ||= turn === null;
      known.isUnclaimed ||= isUnclaimed;
      known.isApart ||= old?.mode === pointer || now?.mode === pointer || open !== "all" && open.surfaced.has(key);
      known.now = now;
    }
  }
  const fold = foldOf(names);
  return sorted([...paths.values()], { fold, others: others.map(fold) });
}

function sorted(
  paths: readonly Path[],
  { fold, others }: { fold(path: Uint8Array): string; others: readonly string[] },
): PlannedPaths {
  const apart = new Folders(paths.filter((one) => one.isApart).map((one) => fold(one.path)));
  const isLeft = (one: Path) => one.isApart || apart.overlaps(fold(one.path));
  const kept = new Set(paths.filter((one) => one.isTheirs || one.isUnclaimed || isLeft(one)));
  const keptPaths = () => new Folders([...[...kept].map((one) => fold(one.path)), ...others]);
  let theirs = keptPaths();
  // A file that stays where a folder was keeps away what was in that.
  for (let known = -1; known !== kept.size; theirs = keptPaths()) {
    known = kept.size;
    for (const one of paths) if (one.isMine && theirs.overlaps(fold(one.path))) kept.add(one);
  }
  const planned: PlannedPaths = { back: [], conflicts: [], unclaimed: [], left: [] };
  for (const one of paths) {
    if (one.isUnclaimed && !one.isMine && !one.isTheirs) planned.unclaimed.push(one.path);
    // What is as it was before needs nothing.
    if (!one.isMine || isSameEntry(one.back, one.now)) continue;
    if (isLeft(one)) planned.left.push(one.path);
    else if (theirs.overlaps(fold(one.path))) planned.conflicts.push(one.path);
    else planned.back.push({ path: one.path, now: one.now, back: one.back });
  }
  return planned;
}

/** Paths that other paths may meet: by the same name, as a folder above them, or as a file below. */
class Folders {
  readonly #paths: ReadonlySet<string>;
  readonly #above = new Set<string>();

  constructor(paths: readonly string[]) {
    this.#paths = new Set(paths);
    for (const path of paths) for (const folder of foldersOf(path)) this.#above.add(folder);
  }

  overlaps(path: string): boolean {
    return this.#paths.has(path) || this.#above.has(path) || foldersOf(path).some((folder) => this.#paths.has(folder));
  }
}

function foldOf(names: RewindFacts["names"]): (path: Uint8Array) => string {
  return names === "exact" ? pathKey : (path) => pathText(path).normalize("NFC").toLowerCase();
}
