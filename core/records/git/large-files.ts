import {
  chmod,
  constants,
  copyFile,
  lstat,
  mkdir,
  readFile,
  rename,
  utimes,
  writeFile,
} from "../../ground/runtime/files.ts";
import { runGit } from "../../ground/runtime/git-program.ts";
import { dirname, join } from "../../ground/runtime/paths.ts";
import { isBehindLink } from "./behind-link.ts";
import { joinNul, lineOf, pathKey } from "./git-call.ts";
import { pathText } from "./raw-diff.ts";
import { eachInShadow, gitInShadow, type ShadowCall, type ShadowRepository, shadowRun } from "./shadow-repository.ts";

/** Files from this size on that are in no commit are hashed and not stored: the worktree has the only copy. */
const largeBytes = 8 * 1024 * 1024;

/** Name of the store's list of them. */
const listName = "large";
/** Files measured concurrently. */
const atOnce = 64;

/** Finds the large plain files among paths below a folder. */
export async function largeAmong(folder: string, paths: readonly Uint8Array[]): Promise<Uint8Array[]> {
  const large: Uint8Array[] = [];
  const measure = async (path: Uint8Array): Promise<void> => {
    const found = await lstat(join(folder, pathText(path))).catch(() => null);
    if (found?.isFile() && found.size >= largeBytes) large.push(path);
  };
  for (let at = 0; at < paths.length; at += atOnce) await Promise.all(paths.slice(at, at + atOnce).map(measure));
  return large;
}

/** Reads which files of a base are large: their content is not in its store. */
export async function largeOf(store: string): Promise<string[]> {
  const text = await readFile(join(store, listName), "utf8").catch(() => "");
  return text.split("\0").filter((path) => path !== "");
}

/** Copies large files into a worktree, and puts the copies into an index; sharing their blocks where the disk can. */
export async function copyLarge(
  files: ShadowRepository,
  { paths, from, call }: { paths: readonly Uint8Array[]; from: string; call: ShadowCall },
): Promise<string> {
  await copyMissing(paths.map(pathText), { from, to: files.workdir });
  const args = ["update-index", "--info-only", "--add", "--remove", "-z", "--stdin"];
  await gitInShadow(files, args, { ...call, stdin: joinNul(paths) });
  await writeFile(join(files.folder, listName), paths.map((path) => `${pathText(path)}\0`).join(""));
  return lineOf(await gitInShadow(files, ["write-tree", "--missing-ok"], call));
}

/** Copies files from one folder to another, in which they are not there. */
export async function copyMissing(paths: readonly string[], { from, to }: { from: string; to: string }): Promise<void> {
  for (const path of paths) if (!await isBehindLink(from, path)) await copyOne(join(from, path), join(to, path));
}

/** A file that is gone meanwhile is left out. */
async function copyOne(from: string, to: string): Promise<void> {
  const found = await lstat(from).catch(() => null);
  if (!found?.isFile()) return;
  await mkdir(dirname(to), { recursive: true });
  await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  await chmod(to, (found.mode & 0o100) === 0 ? 0o644 : 0o755);
  // git reads a file again that is as new as its index.
  await utimes(to, found.atime, found.mtime);
}

/** Tells which of these files below a folder have the content that an index has of them. */
export async function unchangedLarge(
  shadow: ShadowRepository,
  { paths, call }: { paths: readonly string[]; call: ShadowCall },
): Promise<string[]> {
  const wanted = await idsIn(shadow, { paths, call });
  const found: string[] = [];
  for (const path of paths) {
    const id = await hashOf(shadow, { path, call, write: false });
    if (id !== null && id === wanted.get(path)) found.push(path);
  }
  return found;
}

/** Stores these files of a folder, so that git can read what they are. */
export async function storeLarge(
  shadow: ShadowRepository,
  { paths, call }: { paths: readonly string[]; call: ShadowCall },
): Promise<void> {
  for (const path of paths) await hashOf(shadow, { path, call, write: true });
}

/** Tells which of these files an index has a content of that is not stored. */
export async function missingLarge(
  shadow: ShadowRepository,
  { paths, call }: { paths: readonly string[]; call: ShadowCall },
): Promise<string[]> {
  const missing: string[] = [];
  for (const [path, id] of await idsIn(shadow, { paths, call })) {
    const outcome = await runGit(["cat-file", "-e", id], shadowRun(shadow, call));
    if (outcome.exit_code !== 0) missing.push(path);
  }
  return missing;
}

/** Moves large files out of a folder that is removed and made again, or back into it. */
export async function moveLarge(paths: readonly string[], { from, to }: { from: string; to: string }): Promise<void> {
  for (const path of paths) {
    await mkdir(dirname(join(to, path)), { recursive: true });
    await rename(join(from, path), join(to, path));
  }
}

async function hashOf(
  shadow: ShadowRepository,
  { path, call, write }: { path: string; call: ShadowCall; write: boolean },
): Promise<string | null> {
  const found = await lstat(join(shadow.workdir, path)).catch(() => null);
  if (!found?.isFile() || await isBehindLink(shadow.workdir, path)) return null;
  return lineOf(await gitInShadow(shadow, ["hash-object", ...(write ? ["-w"] : []), "--", path], call));
}

async function idsIn(
  shadow: ShadowRepository,
  { paths, call }: { paths: readonly string[]; call: ShadowCall },
): Promise<Map<string, string>> {
  const asked = new Set(paths.map((path) => pathKey(new TextEncoder().encode(path))));
  const ids = new Map<string, string>();
  const take = (line: Uint8Array) => {
    const tab = line.indexOf(0x09);
    const path = line.subarray(tab + 1);
    const [, id = ""] = pathText(line.subarray(0, tab)).split(" ");
    if (asked.has(pathKey(path))) ids.set(pathText(path), id);
  };
  await eachInShadow(shadow, ["ls-files", "-s", "-z"], { ...call, take });
  return ids;
}
