import { constants, copyFile, lstat, mkdir, readdir, utimes, writeFile } from "../../../ground/platform/files/files.ts";
import { dirname, join } from "../../../ground/platform/files/paths.ts";
import { readPlainFile } from "../../../ground/platform/files/read-plain-file.ts";
import { refused } from "./git-folder.ts";
import { packedRefsText, type Refs } from "./read-refs.ts";

/** Bytes of an index that is copied, and of a file that says what is under way. */
export const maxIndexBytes: number = 512 * 1024 * 1024;
const maxStateBytes = 1_000_000;

/** Files of git's folder that say what is under way, besides those that are copied otherwise. They are plain data. */
export const stateFiles: readonly string[] = [
  "MERGE_HEAD",
  "MERGE_MODE",
  "MERGE_MSG",
  "CHERRY_PICK_HEAD",
  "REVERT_HEAD",
  "SQUASH_MSG",
];

/** Makes the folders of a private git folder, and the file that may stand for it. */
export async function makeFolders(place: string): Promise<void> {
  const folders = ["git/objects/info", "git/objects/pack", "git/refs/heads", "git/refs/tags", "git/hooks", "git/info"];
  await Promise.all([...folders, "git/logs/refs", "base"].map((name) => mkdir(join(place, name), { recursive: true })));
  await writeFile(join(place, "dot-git"), `gitdir: ${join(place, "git")}\n`);
}

/** Writes refs twice: for the agent, and as what it began with. */
export async function writeRefs(refs: Refs, { git, base }: { git: string; base: string }): Promise<void> {
  const text = packedRefsText(refs);
  const named = [...refs.symbolic].map(async ([name, target]) => {
    await mkdir(dirname(join(git, name)), { recursive: true });
    await writeFile(join(git, name), `ref: ${target}\n`);
  });
  await Promise.all([writeFile(join(git, "packed-refs"), text), writeFile(join(base, "packed-refs"), text), ...named]);
}

/**
 * Copies the index twice: as what the agent began with, and for the agent. git trusts times of files as old as the index's.
 * A second name would cost less, and change the index's own times: what is known of it would be asked of git again.
 * @returns the stamp of the index before it was copied; empty where there is none
 */
export async function copyIndex(gitDir: string, place: string): Promise<string> {
  const from = join(gitDir, "index");
  const info = await lstat(from).catch(() => null);
  if (info === null) return "";
  if (!info.isFile() || info.size > maxIndexBytes) throw refused(from, "it is no plain file, or too large");
  const seconds = Math.floor(info.mtimeMs) / 1000;
  const [base, own] = [join(place, "base/index"), join(place, "git/index")];
  await copyFile(from, base, constants.COPYFILE_FICLONE);
  await Promise.all([copyFile(base, own, constants.COPYFILE_FICLONE), utimes(base, seconds, seconds)]);
  await utimes(own, seconds, seconds);
  return stampOf(info);
}

/** Tells whether an index was replaced: git writes it into a new file. */
export function stampOf({ ino, size, mtimeMs }: { ino: number; size: number; mtimeMs: number }): string {
  return `${ino} ${size} ${mtimeMs}`;
}

/** Copies a plain file, if it is there and small. */
export async function copyPlain(from: string, to: string): Promise<void> {
  const bytes = await readPlainFile(from, maxStateBytes);
  if (bytes !== null) await writeFile(to, bytes);
}

/** Copies what is under way twice: for the agent, and as it began. Most repositories have none of it, which one list tells. */
export async function copyState(gitDir: string, place: string): Promise<void> {
  const names = await readdir(gitDir);
  await Promise.all(
    stateFiles.filter((name) => names.includes(name)).map(async (name) => {
      const bytes = await readPlainFile(join(gitDir, name), maxStateBytes);
      if (bytes !== null) await Promise.all(["git", "base"].map((to) => writeFile(join(place, to, name), bytes)));
    }),
  );
}
