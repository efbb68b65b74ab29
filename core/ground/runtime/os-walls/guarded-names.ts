import { lstat, mkdir, readdir, readFile, realpath, rmdir, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { listOf } from "../../../../plugin-sdk/json-fields.ts";
import { actedOnGroups, keptEmpty } from "../acted-on-names.ts";
import { foldName } from "../fold-name.ts";
import { isBelow } from "../paths.ts";

/** Kinds of programs whose settings in a project would run, or steer, something outside an agent's walls. */
const kinds = ["coding agents", "editors", "shells and terminals", "build servers", "Bulkhead hosts"];

/** Names of these kinds that are not guarded: people have agents edit them daily, or only the agent's own commands read them. */
const free = new Set([".env", ".flaskenv", ".tool-versions", "mise.toml"]);

/** Run on entering a folder; the group of settings files that it belongs to is not guarded. */
const alsoGuarded = new Set([".envrc", ".npmrc", ".yarnrc", ".yarnrc.yml"]);

/** Inside a repository: programs that git starts, and what it is told. */
const ofGit = ["hooks", "config", "config.worktree", "info", "modules"];

/** Places of a folder as an agent sees them. Real, absolute paths that exist. */
interface ProjectGuards {
  /** Read-only. */
  sealed: string[];
  /** Mounted where they stand, so that they cannot be moved away and made again. */
  held: string[];
}

/**
 * Places at the top of a project that an agent may read and not change: git's hooks and settings, those of build
 * servers, editors and shells, and those that agents themselves obey.
 */
export async function guardedPlaces(folder: string): Promise<ProjectGuards> {
  const names = await readdir(folder).catch(() => []);
  const found = names.filter(isGuarded).map((name) => join(folder, name));
  const git = join(folder, ".git");
  const info = await stat(git).catch(() => null);
  const inGit = info?.isDirectory() ? ofGit.map((name) => join(git, name)) : [git];
  const held = info?.isDirectory() ? await existing([git], folder) : [];
  return { sealed: await existing([...found, ...inGit], folder), held };
}

/** Whether an agent is kept from changing a file or folder of this name at the top of a project. */
export function isGuarded(name: string): boolean {
  const folded = foldName(name);
  if (free.has(folded) || folded.startsWith(".env.")) return false;
  return alsoGuarded.has(folded) ||
    actedOnGroups.some(({ by, names, patterns = [] }) =>
      kinds.includes(by) && (names.has(folded) || patterns.some((pattern) => pattern.test(folded)))
    );
}

/** The empty folders that this host made, and how many of its sessions need each. */
const made = new Map<string, { users: number; isMade: Promise<boolean> }>();

/** Those that are being removed: a session that begins meanwhile makes its own. */
const leaving = new Map<string, Promise<void>>();

/**
 * Makes the empty folders that keep an agent from writing guarded places that do not exist yet. Returns what
 * removes them once no other session of this host needs them.
 * @param record file that lists them, for {@link removeRecorded} after a host that was killed
 */
export async function keepEmpty(folder: string, record: string): Promise<() => Promise<void>> {
  const paths = keptEmpty.map((name) => join(folder, name));
  const missing = await Promise.all(paths.map(async (path) => made.has(path) || await isMissing(path)));
  const wanted = paths.filter((_, index) => missing[index]);
  await writeFile(record, JSON.stringify(wanted), { mode: 0o600 });
  const places = (await Promise.all(wanted.map(makeOrShare))).filter((path) => path !== null);
  return async () => {
    await Promise.all(places.map(leave));
  };
}

/** Whether a path is an empty folder that this host made for its sessions, or one that it is removing. */
export function isKeptEmpty(path: string): boolean {
  return made.has(path) || leaving.has(path);
}

async function isMissing(path: string): Promise<boolean> {
  await leaving.get(path);
  return await lstat(path).then(() => false, () => true);
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

/** A link that leads out of the folder is left alone: what it names is read-only anyway. */
async function existing(paths: readonly string[], folder: string): Promise<string[]> {
  const real = await Promise.all(paths.map((path) => realpath(path).catch(() => null)));
  return [...new Set(real)].filter((path) => path !== null && isBelow(folder, path)) as string[];
}
