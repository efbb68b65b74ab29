import { stat } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { actedOnGroups } from "../../ground/platform/places/acted-on-names.ts";
import { foldName } from "../../ground/platform/files/fold-name.ts";
import { guardedBy } from "../../ground/platform/places/guarded-name.ts";
import { isBelow } from "../../ground/platform/files/paths.ts";
import { isKeptEmpty } from "./kept-empty.ts";
import { gathered, mostPlaces } from "./mounts.ts";
import type { HeldLink } from "./program-view.ts";
import { type LinkedWay, linksBelow, wayTo } from "./project-links.ts";
import { entriesOf, realEntries } from "./real-paths.ts";

/** Names that are looked at in one turn of the event loop. */
const namesInTurn = 500;

/** Links in folders that links name, and so on: after so many, what they name is not guarded. */
const mostRounds = 4;

/** In a repository that no git folder of the session covers: hooks and settings that git acts on. */
const ofGit = ["hooks", "config", "config.worktree", "info", "modules"];

/** Places of a folder as an agent sees them. Absolute paths that exist. */
interface ProjectGuards {
  /** Read-only. Real paths. */
  sealed: string[];
  /** Mounted where they stand, so that they cannot be moved away and made again. Real paths. */
  held: string[];
  /** Links that are guarded, or lead to what is. */
  links: HeldLink[];
  /** Names at the top that are too many to be guarded: they can only be compared. */
  left: string[];
}

/**
 * Places at the top of a project that an agent may read and not change: git's hooks and settings, those of build
 * servers, editors and shells, and those that agents themselves obey. A link is guarded as an entry, and so is what it
 * names in the project, at the top or in a guarded folder.
 * @throws {BulkheadError} `io_error` where one cannot be looked up
 */
export async function guardedPlaces(folder: string): Promise<ProjectGuards> {
  const entries = await entriesOf(folder);
  const { chosen, left } = await bounded(entries.map(({ name }) => name));
  const linked = new Set(entries.filter((entry) => entry.isSymbolicLink()).map(({ name }) => name));
  const folders = new Set(entries.filter((entry) => entry.isDirectory()).map(({ name }) => name));
  const isThere = entries.some(({ name }) => name === ".git");
  const pathOf = (name: string) => join(folder, name);
  const own = chosen.filter((name) => folders.has(name)).map(pathOf).filter((path) => !isKeptEmpty(path));
  const [git, ways] = await Promise.all([
    isThere ? wayTo(folder, pathOf(".git")) : { links: [], end: null },
    waysFrom(folder, { links: chosen.filter((name) => linked.has(name)).map(pathOf), folders: own }),
  ]);
  const isRepository = git.end !== null && await stat(git.end).then((info) => info.isDirectory(), () => false);
  const inGit = isRepository ? await realEntries(git.end!, ofGit) : [git.end];
  const plain = chosen.filter((name) => !linked.has(name)).map(pathOf);
  // A link that leads out of the folder is only held: what it names is read-only anyway.
  const inside = (paths: readonly (string | null)[]) =>
    [...new Set(paths)].filter((path) => path !== null && isBelow(folder, path)) as string[];
  return {
    sealed: gathered(inside([...plain, ...ways.map(({ end }) => end), ...inGit]), folder),
    held: isRepository ? inside([git.end]) : [],
    // A link in a guarded folder cannot be changed anyway.
    links: [git, ...ways].flatMap(({ links }) => links).filter(({ at }) => !own.some((path) => isBelow(path, at))),
    left,
  };
}

/** The ways from links, and from those in folders; what is found so may be a folder with links of its own. */
async function waysFrom(
  top: string,
  from: { links: readonly string[]; folders: readonly string[] },
): Promise<LinkedWay[]> {
  const found: LinkedWay[] = [];
  const seen = new Set(from.folders);
  let { links, folders } = from;
  for (let round = 0; round < mostRounds && links.length + folders.length > 0; round++) {
    const inside = await linksBelow(folders);
    const ways = await Promise.all([...links, ...inside].map((path) => wayTo(top, path)));
    found.push(...ways);
    const isNew = (end: string | null): end is string => end !== null && isBelow(top, end) && !seen.has(end);
    folders = ways.map(({ end }) => end).filter(isNew);
    for (const folder of folders) seen.add(folder);
    links = [];
  }
  return found;
}

/** Every guarded name that is listed, and as many of the others as there is room for. */
async function bounded(names: readonly string[]): Promise<{ chosen: string[]; left: string[] }> {
  const guarded = await guardedAmong(names);
  const listed = guarded.filter(isListed);
  const known = new Set(listed);
  const others = guarded.filter((name) => !known.has(name));
  const room = Math.max(0, mostPlaces - listed.length);
  return { chosen: [...listed, ...others.slice(0, room)], left: others.slice(room) };
}

/** Those of the names at the top of a project that an agent may not change. It may have made any number. */
export async function guardedAmong(names: readonly string[]): Promise<string[]> {
  const guarded: string[] = [];
  for (const [index, name] of names.entries()) {
    if (guardedBy(name) !== null) guarded.push(name);
    if (index % namesInTurn === namesInTurn - 1) await setImmediate();
  }
  return guarded;
}

/** Whether a name is in a list as it stands, or with a stem in capitals: of other spellings there are too many. */
function isListed(name: string): boolean {
  const folded = foldName(name);
  const [stem = "", ...rest] = name.split(".");
  return (name === folded || [stem.toUpperCase(), ...rest].join(".") === name) &&
    actedOnGroups.some((group) => group.names.has(folded));
}
