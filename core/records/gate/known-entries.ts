import { readdir } from "../../ground/platform/files/files.ts";
import { factsOfMany, fileClock } from "../../ground/platform/files/file-mark.ts";
import { isGitName } from "../../ground/platform/places/guarded-name.ts";
import { join } from "../../ground/platform/files/paths.ts";
import type { KnownEntries } from "./look-question.ts";
import { markOfEntry } from "./mark-entry.ts";

/** The moment from which a look counts changes, and what was there then. */
export interface LookStart {
  since: number;
  known: KnownEntries;
}

/** Entries of one folder that are looked at. */
const mostEntries = 2000;

/** Folders in git's own in which files name programs. */
const withPrograms = ["hooks", "info"];

/** Begins to watch a folder: what is made or changed in it from now on is new to {@link lookAround}. Never throws. */
export async function startLook(top: string): Promise<LookStart> {
  const [since, known] = await Promise.all([fileClock(top), knownEntries(top)]);
  return { since, known };
}

/** Takes the folders of a folder and those that make repositories: one runtime tells change times in seconds. */
async function knownEntries(top: string): Promise<KnownEntries> {
  const names = (await entriesOf(top)).filter((entry) => entry.isDirectory() || isGitName(entry.name));
  const folders = names.map(({ name }) => name);
  const inGit = folders.filter(isGitName).flatMap((name) => ["", ...withPrograms].map((part) => join(name, part)));
  const deeper = await Promise.all(inGit.map(async (at) => {
    return (await entriesOf(join(top, at))).filter((entry) => entry.isFile()).map(({ name }) => join(at, name));
  }));
  const paths = [...folders, ...folders.map((name) => join(name, ".git")), ...inGit, ...deeper.flat()];
  const facts = await factsOfMany(paths.map((path) => join(top, path)));
  return Object.fromEntries(paths.flatMap((path, index) => {
    const found = facts[index] ?? null;
    return found === null ? [] : [[path, found.isDirectory() ? found.ino : markOfEntry(found)]];
  }));
}

async function entriesOf(folder: string) {
  return (await readdir(folder, { withFileTypes: true }).catch(() => [])).slice(0, mostEntries);
}
