import { lstat, readdir, readlink } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, sep } from "node:path";
import { isBelow, isInside } from "../../ground/platform/files/paths.ts";
import type { HeldLink } from "./program-view.ts";
import { nullIfMissing } from "./real-paths.ts";

/** Links that the system follows on the way to one place. */
const mostLinks = 40;

/** Links in guarded folders, and other names of files. */
const mostFound = 100;

/** Folders that are looked through for links. */
const mostFolders = 64;

/** Entries that are looked at for the other names of a file. */
const mostEntries = 20_000;

/** Result of {@link wayTo}. */
export interface LinkedWay {
  /** Links inside the folder that lead to the place. */
  links: HeldLink[];
  /** Its real path; null for one that is missing. */
  end: string | null;
}

/**
 * Follows a path link by link. A link of the project that leads to a guarded place is guarded as an entry too: an agent
 * could put another in its place.
 * @param folder a real path
 * @param path an absolute path in it
 * @throws {BulkheadError} `io_error` where a folder of the project is closed
 */
export async function wayTo(folder: string, path: string): Promise<LinkedWay> {
  const links: string[] = [];
  const rest = partsOf(relative(folder, path));
  let at = folder;
  let isMissing = false;
  while (rest.length > 0 && !isMissing) {
    const name = rest.shift()!;
    const next = name === ".." ? dirname(at) : join(at, name);
    const isOutside = !isInside(folder, next);
    const info = await lstat(next).catch((error: unknown) => isOutside ? null : nullIfMissing(error, next));
    const isLink = info?.isSymbolicLink() === true;
    isMissing = info === null || isLink && (links.includes(next) || links.length === mostLinks);
    if (!isLink || isMissing) {
      at = next;
      continue;
    }
    links.push(next);
    const target = await readlink(next);
    if (isAbsolute(target)) at = sep;
    rest.unshift(...partsOf(target));
  }
  const inside = links.filter((link) => isBelow(folder, link));
  return { links: inside.map((link) => ({ at: link, isDangling: isMissing })), end: isMissing ? null : at };
}

function partsOf(path: string): string[] {
  return path.split(sep).filter((name) => name !== "" && name !== ".");
}

/**
 * Finds the links in guarded folders. What such a link names is obeyed like the rest of the folder, wherever it stands
 * in the project. At most {@link mostFound} are found, since a repository may hold any number.
 */
export async function linksBelow(folders: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  let looked = 0;
  for (let level = folders; level.length > 0 && looked < mostFolders && found.length < mostFound;) {
    const now = level.slice(0, mostFolders - looked);
    looked += now.length;
    // A folder that is closed to this user is closed to the agent.
    const listed = await Promise.all(now.map(async (folder) => {
      const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
      return entries.map((entry) => ({ path: join(folder, entry.name), entry }));
    }));
    const all = listed.flat();
    found.push(...all.filter(({ entry }) => entry.isSymbolicLink()).map(({ path }) => path));
    level = all.filter(({ entry }) => entry.isDirectory()).map(({ path }) => path);
  }
  return found.slice(0, mostFound);
}

/** A file with more names than one. */
interface LinkedFile {
  path: string;
  dev: number;
  ino: number;
}

/**
 * Finds other names of files in a project: who writes to one of them writes to all. What lies in `.git` and
 * `node_modules` is not looked at, nor more than {@link mostEntries}; at most {@link mostFound} are found.
 */
export async function otherNames(folder: string, files: readonly LinkedFile[]): Promise<string[]> {
  const wanted = new Map(files.map((file) => [`${file.dev}:${file.ino}`, file.path]));
  const found: string[] = [];
  let looked = 0;
  for (
    let level = wanted.size === 0 ? [] : [folder];
    level.length > 0 && looked < mostEntries && found.length < mostFound;
  ) {
    const below: string[] = [];
    for (const at of level) {
      const entries = await readdir(at, { withFileTypes: true }).catch(() => []);
      looked += entries.length;
      if (looked > mostEntries) break;
      const plain = entries.filter((entry) => entry.isFile()).map(({ name }) => join(at, name));
      const infos = await Promise.all(plain.map((path) => lstat(path).catch(() => null)));
      found.push(...plain.filter((path, index) => {
        const info = infos[index];
        const known = info?.nlink === 1 || info == null ? undefined : wanted.get(`${info.dev}:${info.ino}`);
        return known !== undefined && known !== path;
      }));
      const folders = entries.filter((entry) => entry.isDirectory() && !unlooked.has(entry.name));
      below.push(...folders.map(({ name }) => join(at, name)));
    }
    level = below;
  }
  return found.slice(0, mostFound);
}

const unlooked = new Set([".git", "node_modules"]);
