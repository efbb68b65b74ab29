import { lstat, mkdir, readdir, readFile, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { listOf } from "../../../plugin-sdk/json-fields.ts";
import { keptEmpty } from "../../ground/platform/places/acted-on-names.ts";
import { wayUp } from "../../ground/platform/files/paths.ts";
import { userId } from "../../ground/platform/files/pinned-folder.ts";
import { entriesOf } from "./real-paths.ts";

interface KeptEmpty {
  /** Names in the project before. */
  before: ReadonlySet<string>;
  /**
   * Whether some could not be made in a project that is this user's own: it is closed to writing, or the disk is full. An
   * agent could open it again, or make room, and make what they would keep from it.
   */
  isClosed: boolean;
  /** Removes the empty folders once no other session of this host needs them. */
  release(): Promise<void>;
}

/** Name of the file that says of which project a folder of records is. */
export const projectMarker = ".project_root";

/** The empty folders that this host made, and how many of its sessions need each. */
const made = new Map<string, { users: number; isMade: Promise<boolean> }>();

/** Those that are being removed: a session that begins meanwhile makes its own. */
const leaving = new Map<string, Promise<void>>();

/** Files that list empty folders, which the sessions of one project share. */
const records = new Map<string, { users: number; listed: Set<string>; written: Promise<void> }>();

/**
 * Makes the empty folders that keep an agent from writing guarded places that do not exist yet.
 * @param record file that lists them while a session needs them, for {@link removeRecorded} after a host that was killed
 * @param entries of the folder
 */
export async function keepEmpty(
  folder: string,
  record: string,
  entries: ReturnType<typeof entriesOf> = entriesOf(folder),
): Promise<KeptEmpty> {
  const paths = keptEmpty.map((name) => join(folder, name));
  // One that another session had at first may be gone by now.
  const shared = new Set(paths.filter(isKeptEmpty));
  const before = new Set((await entries).map(({ name }) => name));
  const wanted = paths.filter((path) => !before.has(basename(path)) || shared.has(path) || isKeptEmpty(path));
  const { places, release } = await keep(wanted, { record, mode: 0o777 });
  return { before, isClosed: places.length < wanted.length && await isOwnWithout(folder, wanted), release };
}

/**
 * Makes folders in a home, with those above them, in which an agent may leave its records. The returned function removes those
 * that are still empty once no other session of this host needs them.
 * @param record as for {@link keepEmpty}
 */
export async function keepAtHome(folders: readonly string[], record: string): Promise<() => Promise<void>> {
  const missing = (await Promise.all(folders.map(missingOn))).flat();
  const wanted = [...new Set(missing)].sort((a, b) => a.length - b.length);
  return wanted.length === 0 ? () => Promise.resolve() : (await keep(wanted, { record, mode: 0o700 })).release;
}

/** The folder and those above it that are not there, or only for sessions of this host. */
async function missingOn(folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const path of wayUp(folder)) {
    if (!isKeptEmpty(path) && await lstat(path).then(() => true, () => false)) break;
    found.push(path);
  }
  return found;
}

/** Makes folders, each before those in it, and returns which of them it made or shares. */
async function keep(
  wanted: readonly string[],
  { record, mode }: { record: string; mode: number },
): Promise<{ places: string[] } & Pick<KeptEmpty, "release">> {
  try {
    await list(record, wanted);
  } catch (error) {
    await unlist(record);
    throw error;
  }
  const places = (await Promise.all(wanted.map((path) => makeOrShare(path, mode)))).filter((path) => path !== null);
  return {
    places,
    release: async () => {
      for (const path of places.toReversed()) await leave(path);
      await unlist(record);
    },
  };
}

/** Whether a folder is this user's own and lacks some of these entries. */
async function isOwnWithout(folder: string, paths: readonly string[]): Promise<boolean> {
  const owner = await stat(folder).then(({ uid }) => uid, () => null);
  if (owner === null || owner !== userId()) return false;
  const names = new Set(await readdir(folder).catch(() => []));
  return paths.some((path) => !names.has(basename(path)));
}

/** Sees that a record lists folders before they are made. */
function list(record: string, paths: readonly string[]): Promise<void> {
  const known = records.get(record) ?? { users: 0, listed: new Set<string>(), written: Promise.resolve() };
  records.set(record, known);
  known.users += 1;
  if (paths.every((path) => known.listed.has(path))) return known.written;
  for (const path of paths) known.listed.add(path);
  const text = JSON.stringify([...known.listed]);
  known.written = known.written.catch(() => {}).then(() => write(record, text));
  // The next session tries again.
  known.written.catch(() => known.listed.clear());
  return known.written;
}

async function write(record: string, text: string): Promise<void> {
  const put = () => writeFile(record, text, { mode: 0o600 });
  await put().catch(async () => {
    await mkdir(dirname(record), { recursive: true, mode: 0o700 });
    await put();
  });
}

/** Removes a record with the last session that needs it. */
async function unlist(record: string): Promise<void> {
  const known = records.get(record);
  if (known === undefined || --known.users > 0) return;
  known.listed.clear();
  known.written = known.written.catch(() => {}).then(() => rm(record, { force: true })).catch(() => {});
  await known.written;
  if (known.users === 0) records.delete(record);
}

/** Whether a path is an empty folder that this host made for its sessions, or one that it is removing. */
export function isKeptEmpty(path: string): boolean {
  return made.has(path) || leaving.has(path);
}

/** Returns the path once it is there; null where something else has taken the place meanwhile. */
async function makeOrShare(path: string, mode: number): Promise<string | null> {
  const known = made.get(path) ?? { users: 0, isMade: make(path, mode) };
  made.set(path, known);
  known.users += 1;
  if (await known.isMade) return path;
  if (made.get(path) === known) made.delete(path);
  return null;
}

async function make(path: string, mode: number): Promise<boolean> {
  await Promise.all([leaving.get(path), made.get(dirname(path))?.isMade]);
  return await mkdir(path, { mode }).then(() => true, () => false);
}

async function leave(path: string): Promise<void> {
  const known = made.get(path);
  if (known === undefined || --known.users > 0) return;
  made.delete(path);
  const removal = removeEmpty(path);
  leaving.set(path, removal);
  await removal;
  if (leaving.get(path) === removal) leaving.delete(path);
}

/** Removes a folder that is empty, or holds only its marker: another host may be making its records in it meanwhile. */
async function removeEmpty(path: string): Promise<void> {
  const marker = join(path, projectMarker);
  const names = await readdir(path).catch(() => []);
  const text = names.length === 1 && names[0] === projectMarker ? await readFile(marker).catch(() => null) : null;
  if (text !== null) await rm(marker).catch(() => {});
  if (names.length > 1) return;
  const isGone = await rmdir(path).then(() => true, () => false);
  if (!isGone && text !== null) await writeFile(marker, text, { flag: "wx", mode: 0o600 }).catch(() => {});
}

/** Removes the empty folders that a file of {@link keepEmpty} or {@link keepAtHome} lists. */
export async function removeRecorded(record: string): Promise<void> {
  const listed: unknown = await readFile(record, "utf8").then((text) => JSON.parse(text) as unknown).catch(() => null);
  const paths = listOf(listed).filter((path) => typeof path === "string");
  for (const path of paths.sort((a, b) => b.length - a.length)) await removeEmpty(path);
}
