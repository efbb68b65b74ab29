import { isMissing } from "../../../ground/errors/write-fault.ts";
import { isThere, plainText } from "../look-at.ts";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { lstat, realpath } from "../../../ground/platform/files/files.ts";
import { keyPlaces } from "../../../ground/platform/places/key-places.ts";
import { basename, dirname, isInside, join, resolve } from "../../../ground/platform/files/paths.ts";
import { hostEnv } from "../../../ground/platform/engine/platform.ts";
import { repairHint } from "./git-commands.ts";

/** The git folder of a working directory, found without starting git. Real, absolute paths. */
export interface GitFolder {
  /** Top of the work tree: the folder in which `.git` stands. */
  top: string;
  /** The kind of `.git`: git's folder, or a file that names it. */
  entry: "folder" | "file";
  /** Holds HEAD and the index. */
  gitDir: string;
  /** Holds objects, refs and config; another folder for a linked worktree. */
  commonDir: string;
}

/** Places whose content no mount shows, under any name. */
export interface ClosedPlaces {
  /** Real, absolute paths: the host's own state, secrets. */
  closed: readonly string[];
}

/**
 * Finds git's folder as git does, upwards from a folder. It is the source of mounts, so nothing is believed that the
 * project's content could say alone: no link is followed, a file `.git` counts only where git's folder names it back, and
 * the folder lies in no place that is kept from agents.
 * @returns null where no repository is found
 * @throws {BulkheadError} `unsupported` for a `.git` that stands there and cannot be trusted
 */
export async function findGitFolder(folder: string, places: ClosedPlaces): Promise<GitFolder | null> {
  for (let top = folder;; top = dirname(top)) {
    const found = await gitFolderAt(top, places);
    if (found !== null) return found;
    if (dirname(top) === top) return null;
  }
}

/** As {@link findGitFolder}, in one folder. */
export async function gitFolderAt(top: string, places: ClosedPlaces): Promise<GitFolder | null> {
  const entry = join(top, ".git");
  const info = await lstat(entry).catch((error: unknown) => {
    if (isMissing(error)) return null;
    throw refused(entry, "it cannot be looked up");
  });
  if (info === null) return null;
  if (info.isDirectory()) return await repositoryIn(top, places);
  if (!info.isFile()) throw refused(entry, info.isSymbolicLink() ? "it is a link" : "it is no folder and no file");
  return await namedBy(entry, places);
}

async function repositoryIn(top: string, places: ClosedPlaces): Promise<GitFolder | null> {
  const gitDir = join(top, ".git");
  // Git goes on upwards past a folder that is no repository.
  if (!(await isThere(join(gitDir, "HEAD"))) || !(await isThere(join(gitDir, "objects")))) return null;
  if (await isThere(join(gitDir, "commondir"))) {
    throw refused(gitDir, "it has a file commondir, as only a worktree's has");
  }
  await approve(gitDir, places);
  return { top, entry: "folder", gitDir, commonDir: gitDir };
}

async function namedBy(entry: string, places: ClosedPlaces): Promise<GitFolder> {
  const top = dirname(entry);
  const named = /^gitdir: (.+)$/.exec(await lineOf(entry))?.[1];
  if (named === undefined) throw refused(entry, "it does not name a folder as git writes it");
  const gitDir = resolve(top, named);
  if (!(await isThere(gitDir))) {
    throw refused(entry, `"${gitDir}", which it names, is missing`, repairHint(top));
  }
  const common = await lineOf(join(gitDir, "commondir"));
  if (common === "") {
    await approve(gitDir, places);
    await nameBack(entry, gitDir);
    return { top, entry: "file", gitDir, commonDir: gitDir };
  }
  const commonDir = resolve(gitDir, common);
  if (dirname(gitDir) !== join(commonDir, "worktrees")) throw refused(entry, "it names no worktree of a repository");
  const back = resolve(gitDir, await lineOf(join(gitDir, "gitdir")));
  if (back !== entry && await realpath(back).catch(() => null) !== entry) {
    const hint = `If this folder was moved, run in it: git worktree repair`;
    throw refused(entry, `"${gitDir}" belongs to another folder`, hint);
  }
  await approve(commonDir, places);
  await plainFolder(gitDir);
  return { top, entry: "file", gitDir, commonDir };
}

/** A submodule's git folder says in its config where its work tree is, or lies in `modules` of a repository above it. */
async function nameBack(entry: string, gitDir: string): Promise<void> {
  const text = await plainText(join(gitDir, "config"), maxConfigBytes);
  const named = /^\s*worktree\s*=\s*"?([^"\n]+?)"?\s*$/m.exec(text)?.[1];
  if (named !== undefined && resolve(gitDir, named) === dirname(entry)) return;
  throw refused(entry, `"${gitDir}" does not name this folder as its work tree`);
}

/** Bytes of a git config that are read. */
export const maxConfigBytes = 1_000_000;

/**
 * The one question before something of a repository is mounted: a plain folder that looks like git's, no link on the way
 * to it or in it, and not in a place that is kept from agents.
 * @throws {BulkheadError} `unsupported`
 */
async function approve(commonDir: string, places: ClosedPlaces): Promise<void> {
  await plainFolder(commonDir);
  await Promise.all(["objects", "refs"].map((name) => approvedSource(join(commonDir, name), places)));
  const plainFiles = ["HEAD", "config", "packed-refs", "index", "shallow"];
  await Promise.all(plainFiles.map(async (name) => {
    const info = await lstat(join(commonDir, name)).catch(() => null);
    if (info !== null && !info.isFile()) throw refused(join(commonDir, name), "it is no plain file");
  }));
}

/**
 * Sees that a folder may be shown to an agent.
 * @throws {BulkheadError} `unsupported`
 */
async function approvedSource(folder: string, { closed }: ClosedPlaces): Promise<string> {
  await plainFolder(folder);
  const hidden = [...closed, ...await keysOfHome()];
  const inside = hidden.find((place) => isInside(place, folder) || isInside(folder, place));
  if (inside !== undefined) throw refused(folder, "it lies where keys or the host's own files are");
  return folder;
}

async function keysOfHome(): Promise<string[]> {
  const home = hostEnv("HOME");
  const real = home ? await realpath(home).catch(() => null) : null;
  return real === null || real === "/" ? [] : keyPlaces.map((place) => join(real, place));
}

async function plainFolder(folder: string): Promise<void> {
  if (await realpath(folder).catch(() => null) !== folder) {
    throw refused(folder, "it is missing, or reached through a link");
  }
  if (!(await lstat(folder)).isDirectory()) throw refused(folder, "it is no folder");
}

/** The only line of a small plain file; empty for anything else. */
async function lineOf(path: string): Promise<string> {
  const text = (await plainText(path, 4096)).replace(/\r?\n$/, "");
  return text.includes("\n") || text.includes("\0") ? "" : text;
}

/** Makes the error of a repository that agents get no git folder for. */
export function refused(place: string, because: string, hint: string = lookAtIt(place)): BulkheadError {
  return new BulkheadError("unsupported", `Cannot give an agent a git folder of its own for "${place}": ${because}.`, {
    hint,
    details: { path: place, reason: because },
  });
}

function lookAtIt(place: string): string {
  const name = basename(place);
  return `Look at "${place}", and mend or remove "${name}". A worktree of the repository may work: --workspace worktree`;
}

/** Text of the file that names folders of objects to borrow from, quoted as git reads it. */
export function alternatesText(folders: readonly string[]): string {
  return folders.map((path) => `"${path.replace(/["\\]/g, "\\$&").replace(/\n/g, "\\n")}"\n`).join("");
}

/** Folders of objects that one repository may borrow from, one after another. */
const mostAlternates = 16;

/**
 * The folders of objects of a repository: its own, and those that it borrows from, which are sources of mounts as well.
 * @throws {BulkheadError} `unsupported`
 */
export async function objectFolders(commonDir: string, places: ClosedPlaces): Promise<string[]> {
  const folders = [join(commonDir, "objects")];
  for (let at = 0; at < folders.length; at++) {
    const file = join(folders[at]!, "info/alternates");
    const lines = (await plainText(file, 65_536)).split("\n");
    for (const line of lines.filter((text) => text !== "" && !text.startsWith("#"))) {
      if (line.startsWith('"')) throw refused(commonDir, "it borrows objects from a folder with an unusual name");
      const folder = await approvedSource(resolve(folders[at]!, line), places);
      if (!folders.includes(folder)) folders.push(folder);
      if (folders.length > mostAlternates) throw refused(commonDir, "it borrows objects from too many folders");
    }
  }
  return folders;
}
