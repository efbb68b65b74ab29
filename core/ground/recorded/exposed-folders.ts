import { sha256Hex } from "../platform/files/hash.ts";
import { isAlive } from "../platform/state/lock-holder.ts";
import { isInside, join, wayUp } from "../platform/files/paths.ts";
import { pid } from "../platform/engine/platform.ts";
import { processStart } from "../platform/processes/process-rows.ts";
import { isThere, makeOwnFolder, namesIn, putText, readJson, removeNow } from "../platform/files/small-files.ts";
import { stateFolders } from "../platform/state/state-folders.ts";

/** A folder that contained sessions may write, or could once. */
export interface ExposedFolder {
  /** Real absolute path. */
  path: string;
  /** Folder of its records. */
  records: string;
  /** When the first of those sessions began; 0 where that is not known. Milliseconds since 1970. */
  since: number;
}

/** The sessions that could write a folder. */
export interface Sessions {
  /** Ids of those that run. */
  open: string[];
  /** Ids of those whose host was killed: no host has compared anything at their end. */
  lost: string[];
  /** When the last one ended; 0: none has. Milliseconds since 1970. */
  ended: number;
}

/** With more exposed folders, those that are gone are forgotten. */
const mostKept = 100;

const sessionPrefix = "session-";
const endFile = "ended";
const beginFile = "folder";

/** Returns the place of all records, in the user's data folder for all hosts. No agent may write there. */
export function recordsFolder(): string {
  return join(stateFolders().data, "recorded");
}

/**
 * The exposed folders that hold one of these places.
 * @param options.within Also those that lie in one, because the place is a folder.
 */
export function exposedOver(places: readonly string[], { within }: { within: boolean }): ExposedFolder[] {
  const all = namesIn(recordsFolder());
  if (all.length === 0) return [];
  const known = new Set(all);
  const above = [...new Set(places.flatMap(wayUp))].filter((folder) => known.has(keyOf(folder)));
  const over = above.map(folderAt);
  if (!within || above.length === all.length) return over;
  const others = all.filter((key) => !above.some((folder) => keyOf(folder) === key));
  const inside = others.map(pathOf).filter((path) => path !== null && places.some((place) => isInside(place, path)));
  return [...over, ...inside.map((path) => folderAt(path!))];
}

/** Returns the notes of a folder that is about to be exposed, for the first time or again. */
export function exposedFolder(path: string): ExposedFolder {
  const folder = folderAt(path);
  if (folder.since === 0) makeOwnFolder(folder.records);
  return folder;
}

/** Notes that a folder is exposed from now on, and forgets those that are no longer there where they are many. */
export function noteExposed({ path, records }: ExposedFolder): void {
  const all = namesIn(recordsFolder());
  for (const key of all.length > mostKept ? all : []) {
    const known = pathOf(key);
    // A worktree of a session that was discarded, for example.
    if (known !== null && !isThere(known)) removeNow(join(recordsFolder(), key));
  }
  putText(join(records, beginFile), JSON.stringify({ path, since: Date.now() }));
}

/** Notes that a session of this process may write a folder from now on. */
export function noteSession({ records }: ExposedFolder, id: string): void {
  putText(join(records, `${sessionPrefix}${id}`), JSON.stringify({ pid, start: processStart(pid) }));
}

/** Notes that a session has ended, and that all that is recorded was compared. */
export function noteEnd({ records }: ExposedFolder, id: string): void {
  putText(join(records, endFile), String(Date.now()));
  removeNow(join(records, `${sessionPrefix}${id}`));
}

/** Reads which sessions can write a folder, or could. */
export function sessionsOf({ records }: ExposedFolder): Sessions {
  const names = namesIn(records);
  const sessions: Sessions = { open: [], lost: [], ended: 0 };
  if (names.includes(endFile)) sessions.ended = Number(readJson(join(records, endFile)) ?? 0);
  for (const name of names) {
    if (!name.startsWith(sessionPrefix)) continue;
    const holder = readJson(join(records, name)) as { pid?: unknown; start?: unknown } | null;
    const id = name.slice(sessionPrefix.length);
    const lives = typeof holder?.pid === "number" &&
      isAlive({ pid: holder.pid, start: typeof holder.start === "string" ? holder.start : null });
    sessions[lives ? "open" : "lost"].push(id);
  }
  return sessions;
}

function folderAt(path: string): ExposedFolder {
  const records = join(recordsFolder(), keyOf(path));
  const kept = readJson(join(records, beginFile)) as { since?: unknown } | null;
  return { path, records, since: typeof kept?.since === "number" ? kept.since : 0 };
}

function pathOf(key: string): string | null {
  const kept = readJson(join(recordsFolder(), key, beginFile)) as { path?: unknown } | null;
  return typeof kept?.path === "string" ? kept.path : null;
}

function keyOf(path: string): string {
  return sha256Hex(path).slice(0, 32);
}
