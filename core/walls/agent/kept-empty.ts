import { mkdir, readdir, readFile, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { listOf } from "../../../plugin-sdk/json-fields.ts";
import { keptEmpty } from "../../ground/runtime/acted-on-names.ts";
import { userId } from "../../ground/runtime/pinned-folder.ts";
import { entriesOf } from "./real-paths.ts";

/** Result of {@link keepEmpty}. */
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

/** The empty folders that this host made, and how many of its sessions need each. */
const made = new Map<string, { users: number; isMade: Promise<boolean> }>();

/** Those that are being removed: a session that begins meanwhile makes its own. */
const leaving = new Map<string, Promise<void>>();

/** Files that list empty folders, which the sessions of one project share. */
const records = new Map<string, { users: number; listed: Set<string>; written: Promise<void> }>();

/**
 * Makes the empty folders that keep an agent from writing guarded places that do not exist yet.
 * @param record file that lists them while a session needs them, for {@link removeRecorded} after a host that was killed
 */
export async function keepEmpty(folder: string, record: string): Promise<KeptEmpty> {
  const paths = keptEmpty.map((name) => join(folder, name));
  // One that another session had at first may be gone by now.
  const shared = new Set(paths.filter(isKeptEmpty));
  const before = new Set((await entriesOf(folder)).map(({ name }) => name));
  const wanted = paths.filter((path) => !before.has(basename(path)) || shared.has(path) || isKeptEmpty(path));
  try {
    await list(record, wanted);
  } catch (error) {
    await unlist(record);
    throw error;
  }
  const places = (await Promise.all(wanted.map(makeOrShare))).filter((path) => path !== null);
  return {
    before,
    isClosed: places.length < wanted.length && await isOwnWithout(folder, wanted),
    release: async () => {
      await Promise.all(places.map(leave));
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
async function makeOrShare(path: string): Promise<string | null> {
  const known = made.get(path) ?? { users: 0, isMade: make(path) };
  made.set(path, known);
  known.users += 1;
  if (await known.isMade) return path;
  if (made.get(path) === known) made.delete(path);
  return null;
}

async function make(path: string): Promise<boolean> {
  await leaving.get(path);
  return await mkdir(path).then(() => true, () => false);
}

async function leave(path: string): Promise<void> {
  const known = made.get(path);
  if (known === undefined || --known.users > 0) return;
  made.delete(path);
  const removal = rmdir(path).catch(() => {});
  leaving.set(path, removal);
  await removal;
  if (leaving.get(path) === removal) leaving.delete(path);
}

/** Removes the empty folders that a file of {@link keepEmpty} lists. */
export async function removeRecorded(record: string): Promise<void> {
  const listed: unknown = await readFile(record, "utf8").then((text) => JSON.parse(text) as unknown).catch(() => null);
  for (const path of listOf(listed)) {
    if (typeof path === "string" && keptEmpty.includes(basename(path))) await rmdir(path).catch(() => {});
  }
}
