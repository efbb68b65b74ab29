import { mkdir, readdir, readFile, rename, rm, writeFile } from "../runtime/files.ts";
import { randomId, sha256Hex } from "../runtime/hash.ts";
import { isAlive } from "../runtime/lock-file.ts";
import { isInside, join, wayUp } from "../runtime/paths.ts";
import { pid } from "../runtime/platform.ts";
import { processStart } from "../runtime/process-rows.ts";
import { stateFolders } from "../runtime/state-folders.ts";

/** A folder that contained sessions may write, or could once. */
export interface ExposedFolder {
  /** Real absolute path. */
  path: string;
  /** Where what is recorded of it is kept. */
  records: string;
  /** When the first of those sessions began; 0 where that is not known. Milliseconds since 1970. */
  since: number;
}

/** The sessions that could write a folder. */
export interface Sessions {
  /** Ids of those that run. */
  open: string[];
  /** Ids of those whose host was killed: nobody has compared anything at their end. */
  lost: string[];
  /** When the last one ended; 0: none has. Milliseconds since 1970. */
  ended: number;
}

const sessionPrefix = "session-";
const endFile = "ended";
const beginFile = "folder";

/**
 * Returns the place of all records: in the user's data folder, so that every host of this user finds them, whatever its
 * state folder is. No agent may write there.
 */
export function recordsFolder(): string {
  return join(stateFolders().data, "recorded");
}

/**
 * The exposed folders that hold one of these places.
 * @param options.within Also those that lie in one, because the place is a folder.
 */
export async function exposedOver(
  places: readonly string[],
  { within }: { within: boolean },
): Promise<ExposedFolder[]> {
  const all = await readdir(recordsFolder()).catch(() => []);
  if (all.length === 0) return [];
  const known = new Set(all);
  const above = [...new Set(places.flatMap(wayUp))].filter((folder) => known.has(keyOf(folder)));
  const over = await Promise.all(above.map(folderAt));
  if (!within || above.length === all.length) return over;
  const others = all.filter((key) => !above.some((folder) => keyOf(folder) === key));
  const inside = (await Promise.all(others.map(pathOf))).filter((path) =>
    path !== null && places.some((place) => isInside(place, path))
  );
  return [...over, ...await Promise.all(inside.map((path) => folderAt(path!)))];
}

/** Returns the notes of a folder that is about to be exposed, for the first time or again. */
export async function exposedFolder(path: string): Promise<ExposedFolder> {
  const folder = await folderAt(path);
  if (folder.since === 0) await mkdir(folder.records, { recursive: true, mode: 0o700 });
  return folder;
}

/** Notes that a folder is exposed from now on. */
export async function noteExposed({ path, records }: ExposedFolder): Promise<void> {
  await putText(join(records, beginFile), JSON.stringify({ path, since: Date.now() }));
}

/** Notes that a session of this process may write a folder from now on. */
export async function noteSession({ records }: ExposedFolder, id: string): Promise<void> {
  await putText(join(records, `${sessionPrefix}${id}`), JSON.stringify({ pid, start: processStart(pid) }));
}

/** Notes that a session has ended, and that all that is recorded was compared. */
export async function noteEnd({ records }: ExposedFolder, id: string): Promise<void> {
  await putText(join(records, endFile), String(Date.now()));
  await rm(join(records, `${sessionPrefix}${id}`), { force: true });
}

/** Reads which sessions can write a folder, or could. */
export async function sessionsOf({ records }: ExposedFolder): Promise<Sessions> {
  const names: string[] = await readdir(records).catch(() => []);
  const sessions: Sessions = { open: [], lost: [], ended: 0 };
  if (names.includes(endFile)) sessions.ended = Number(await readFile(join(records, endFile), "utf8").catch(() => "0"));
  for (const name of names) {
    if (!name.startsWith(sessionPrefix)) continue;
    const holder = await readJson(join(records, name)) as { pid?: unknown; start?: unknown } | null;
    const id = name.slice(sessionPrefix.length);
    const lives = typeof holder?.pid === "number" &&
      isAlive({ pid: holder.pid, start: typeof holder.start === "string" ? holder.start : null });
    sessions[lives ? "open" : "lost"].push(id);
  }
  return sessions;
}

/** Writes a small file of this user alone, all of it or nothing. */
export async function putText(file: string, text: string): Promise<void> {
  const draft = `${file}.${randomId()}`;
  try {
    await writeFile(draft, text, { mode: 0o600 });
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => {});
    throw error;
  }
}

/** Reads a small file; null where it is not there or not as it was written. */
export async function readJson(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch {
    return null;
  }
}

async function folderAt(path: string): Promise<ExposedFolder> {
  const records = join(recordsFolder(), keyOf(path));
  const kept = await readJson(join(records, beginFile)) as { since?: unknown } | null;
  return { path, records, since: typeof kept?.since === "number" ? kept.since : 0 };
}

async function pathOf(key: string): Promise<string | null> {
  const kept = await readJson(join(recordsFolder(), key, beginFile)) as { path?: unknown } | null;
  return typeof kept?.path === "string" ? kept.path : null;
}

function keyOf(path: string): string {
  return sha256Hex(path).slice(0, 32);
}
