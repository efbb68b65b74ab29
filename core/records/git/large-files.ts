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
} from "../../ground/platform/files/files.ts";
import { fewAtOnce } from "./private/few-entries.ts";
import { runGit } from "../../ground/platform/processes/git-program.ts";
import { dirname, join } from "../../ground/platform/files/paths.ts";
import { isBehindLink } from "./look-at.ts";
import { indexLine, joinNul, lineOf, pathKey } from "./git-call.ts";
import { eachEntry, pathText } from "./raw-diff.ts";
import {
  dropFromIndex,
  gitInShadow,
  type ShadowCall,
  type ShadowRepository,
  shadowRun,
  treeOfIndex,
} from "./shadow-repository.ts";
import { sha256Hex } from "../../ground/platform/files/hash.ts";

/** Files from this size on that are in no commit are hashed and not stored: the worktree has the only copy. */
const largeBytes = 8 * 1024 * 1024;

/** Name of the store's list of them. */
const listName = "large";

/** Finds the large plain files among paths below a folder. */
export async function largeAmong(folder: string, paths: readonly Uint8Array[]): Promise<Uint8Array[]> {
  const large: Uint8Array[] = [];
  const measure = async (path: Uint8Array): Promise<void> => {
    const found = await lstat(join(folder, pathText(path))).catch(() => null);
    if (found?.isFile() && found.size >= largeBytes) large.push(path);
  };
  await fewAtOnce(paths, measure);
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
  return await treeOfIndex(files, call);
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
  await eachEntry(shadow, call, ({ id, path }) => {
    if (asked.has(pathKey(path))) ids.set(pathText(path), id);
  });
  return ids;
}

/** Files above this are compared by size and time, not by content: reading them would take longer than the session. */
export const hugeBytes: number = 1024 * 1024 * 1024;

/** Bounds of what a look stores of changed files. */
export interface StoredBounds {
  files: number;
  bytes: number;
  /** Beyond this many, reading each file's size would cost more than it saves. */
  measured: number;
  /** Files above this are compared by size and time. Bytes. */
  huge: number;
}

/** Enough that a rename with a change can be told from a new file. */
const renameBounds: StoredBounds = { files: 2000, bytes: 64 * 1024 * 1024, measured: 5000, huge: hugeBytes };

interface Measure {
  /** They are few and small enough to store. */
  isSmall: boolean;
  huge: HugeFile[];
}

interface HugeFile {
  path: Uint8Array;
  /** Changes with size or time. */
  mark: string;
  isProgram: boolean;
}

/** Measures files below a folder. */
export async function measureFiles(
  folder: string,
  paths: readonly Uint8Array[],
  bounds: StoredBounds = renameBounds,
): Promise<Measure> {
  const huge: HugeFile[] = [];
  if (paths.length > bounds.measured) return { isSmall: false, huge };
  let bytes = 0;
  const measure = async (path: Uint8Array): Promise<void> => {
    const found = await lstat(join(folder, new TextDecoder().decode(path))).catch(() => null);
    if (!found?.isFile()) return;
    if (found.size <= bounds.huge) {
      bytes += found.size;
      return;
    }
    const { size, mtimeMs, ctimeMs, ino, mode } = found;
    huge.push({ path, mark: sha256Hex(`${size} ${mtimeMs} ${ctimeMs} ${ino}`), isProgram: (mode & 0o100) !== 0 });
  };
  await fewAtOnce(paths, measure);
  return { isSmall: paths.length <= bounds.files && bytes <= bounds.bytes, huge };
}

/** Puts huge files into the index under the id of a content that does not exist. */
export async function addHugeFiles(
  shadow: ShadowRepository,
  huge: readonly HugeFile[],
  call: ShadowCall,
): Promise<void> {
  if (huge.length === 0) return;
  await dropHugeFiles(shadow, huge, call);
  const digits = shadow.repository?.objectFormat === "sha256" ? 64 : 40;
  const lines = huge.map(({ path, mark, isProgram }) =>
    indexLine(`${isProgram ? "100755" : "100644"} ${mark.slice(0, digits)}`, path)
  );
  await gitInShadow(shadow, ["update-index", "-z", "--index-info"], { ...call, stdin: joinNul(lines) });
}

/** Takes huge files out again: git would read a whole file to find out whether it still matches the index. */
export async function dropHugeFiles(
  shadow: ShadowRepository,
  huge: readonly HugeFile[],
  call: ShadowCall,
): Promise<void> {
  await dropFromIndex(shadow, huge.map(({ path }) => path), call);
}
