import { factsOfMany } from "../../ground/platform/files/file-mark.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { pathKey } from "../git/git-call.ts";
import { pathText } from "../git/raw-diff.ts";
import { type BlobChange, foldersOf } from "./blob-changes.ts";

/** Time of one tool call, by the clock of the host. Milliseconds since 1970. */
export interface CallTime {
  from: number;
  to: number;
}

/** Signs that a change of a turn is the agent's. */
interface TurnSigns {
  /** Paths that events of the turn name, relative to the top of the work tree, with `/`. */
  named: ReadonlySet<string>;
  calls: readonly CallTime[];
}

interface TurnPlace {
  top: string;
  /** When the turn began. Milliseconds since 1970. */
  since: number;
  /** Whether what git ignores may have changed: a new path may be an old file. */
  maySurface: boolean;
  /** Keys of the paths that could not be read when it began. */
  unread: ReadonlySet<string>;
}

/** Changed paths of a turn that are not, or not surely, the agent's. By their keys. */
export interface OpenPaths {
  /** Nothing shows who changed them. */
  unclaimed: Set<string>;
  /** They were there before, unseen. */
  surfaced: Set<string>;
}

/** A file system stamps a change with the time of its last tick. Milliseconds. */
const tickMs = 20;

/**
 * Finds the changed paths that nothing shows to be the agent's: no event names them, and their change time lies in no tool
 * call. What came along with a folder has the folder's time. A path that is gone has none: the folder's counts, if nothing
 * else can have changed that, or what it was renamed to. So another's change while the agent thinks stays another's.
 * @param signs `all`: every change is the agent's
 */
export async function openPathsOf(
  changes: readonly BlobChange[],
  { signs, top, since, maySurface, unread }: TurnPlace & { signs: TurnSigns | "all" },
): Promise<OpenPaths> {
  const open: OpenPaths = { unclaimed: new Set(), surfaced: new Set() };
  const { named, calls } = signs === "all" ? { named: null, calls: [] } : signs;
  const isInCall = (moment: ChangeMoment | null | undefined) =>
    moment && calls.some(({ from, to }) => moment.to >= from - tickMs && moment.from <= to + tickMs);
  const isNamed = (path: string) => named === null || named.has(path);
  const folders = await changedFolders(changes, top);
  const gone = changes.filter((one) => one.new === null);
  const wasHere = new Set(gone.map(({ old }) => old!.id));
  const there = changes.filter((one) => one.new !== null);
  const times = await factsOfMany(there.map(({ path }) => join(top, pathText(path))));
  there.forEach((one, at) => {
    const text = pathText(one.path);
    const facts = times[at] ?? null;
    const moment = facts && momentOf(facts);
    const bornAt = facts?.birthtimeMs || moment?.to || since;
    const isMoved = one.old === null && wasHere.has(one.new!.id);
    const isOld = unread.has(pathKey(one.path)) || maySurface && !isMoved && bornAt < since - tickMs;
    if (one.old === null && isOld) {
      open.surfaced.add(pathKey(one.path));
    } else if (!isNamed(text) && !isInCall(moment)) {
      // A time that seems to lie in the turn may be of just before it, and only a moved folder can bring such a file.
      const came = one.old === null && moment !== null && moment.from <= since;
      const isClaimed = came && foldersOf(text).some((folder) => isInCall(folders.get(folder)?.changed));
      if (!isClaimed) open.unclaimed.add(pathKey(one.path));
    }
  });
  // Contents that the agent has put elsewhere.
  const moved = new Set(there.flatMap(({ path, old, new: now }) => {
    const key = pathKey(path);
    return old === null && !open.unclaimed.has(key) && !open.surfaced.has(key) ? [now!.id] : [];
  }));
  for (const { path, old } of gone) {
    const text = pathText(path);
    const folder = folders.get(placeOf(text, folders));
    const isClaimed = isNamed(text) || moved.has(old!.id) ||
      foldersOf(text).some((one) => isNamed(one) && !folders.has(one)) ||
      folder?.entries.size === 1 && isInCall(folder.changed);
    if (!isClaimed) open.unclaimed.add(pathKey(path));
  }
  return open;
}

/** When something was changed, as exactly as it is known. Milliseconds since 1970. */
interface ChangeMoment {
  from: number;
  to: number;
}

/** One of the runtimes knows change times in whole seconds. What was written in that second was changed by that. */
function momentOf({ ctimeMs, mtimeMs }: { ctimeMs: number; mtimeMs: number }): ChangeMoment {
  if (ctimeMs % 1000 !== 0) return { from: ctimeMs, to: ctimeMs };
  return mtimeMs >= ctimeMs && mtimeMs < ctimeMs + 1000
    ? { from: mtimeMs, to: mtimeMs }
    : { from: ctimeMs, to: ctimeMs + 999 };
}

/** A folder that is still there, and the entries whose changes may have changed its time. */
interface ChangedFolder {
  changed: ChangeMoment;
  entries: Set<string>;
}

/** The folders above changed paths that are still there, by path; the top is the empty one. */
async function changedFolders(changes: readonly BlobChange[], top: string): Promise<Map<string, ChangedFolder>> {
  const texts = changes.map(({ path }) => pathText(path));
  const all = [...new Set(texts.flatMap((path) => ["", ...foldersOf(path)]))];
  const facts = await factsOfMany(all.map((folder) => join(top, folder)));
  const folders = new Map<string, ChangedFolder>();
  all.forEach((folder, at) => {
    const found = facts[at];
    if (found?.isDirectory()) folders.set(folder, { changed: momentOf(found), entries: new Set() });
  });
  changes.forEach(({ old }, at) => {
    const path = texts[at]!;
    // What is new may have come with the folders above it.
    const above = old === null ? ["", ...foldersOf(path)] : [placeOf(path, folders)];
    for (const folder of above) {
      const below = folder === "" ? path : path.slice(folder.length + 1);
      folders.get(folder)?.entries.add(below.split("/")[0]!);
    }
  });
  return folders;
}

/** The nearest folder above a path that is still there. */
function placeOf(path: string, folders: ReadonlyMap<string, unknown>): string {
  return foldersOf(path).toReversed().find((folder) => folders.has(folder)) ?? "";
}
