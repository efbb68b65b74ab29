import { quoted } from "./private/config-text.ts";
import { copyWithTime } from "../../ground/platform/files/copy-with-time.ts";
import { markOfFile } from "../../ground/platform/files/file-mark.ts";
import { mkdir, mkdtemp, readdir, writeFile } from "../../ground/platform/files/files.ts";
import type { GitRunOptions } from "../../ground/platform/processes/git-program.ts";
import { join, relative, resolve, sep } from "../../ground/platform/files/paths.ts";
import { eachRecord, git, gitEnv, gitError, joinNul, lineOf } from "./git-call.ts";
import type { Repository } from "./find-repository.ts";

/** A repository of our own beside the user's, which borrows its objects and writes and runs nothing of it. */
export interface ShadowRepository {
  /** The git folder, which holds everything. */
  folder: string;
  /** Real absolute path of the working directory. */
  workdir: string;
  /** The user's repository; null for a plain folder. */
  repository: Omit<Repository, "head"> | null;
}

interface ShadowOptions {
  workdir: string;
  repository: Repository | null;
  /** Real absolute path of the folder that the shadow's own folder is in; left out of every listing. */
  scratchDir: string;
  /** Real absolute paths to leave out as well. */
  exclude: readonly string[];
  /** git settings to write into the shadow's config. */
  settings: ReadonlyMap<string, string>;
  /** Its own folder, from {@link makeShadowFolder}. */
  folder: string;
}

/** Makes the folder of a shadow, and the one that it is in. */
export async function makeShadowFolder(scratchDir: string): Promise<string> {
  await mkdir(scratchDir, { recursive: true });
  const folder = await mkdtemp(join(scratchDir, "git-"));
  await Promise.all(["objects/info", "refs", "info"].map((name) => mkdir(join(folder, name), { recursive: true })));
  return folder;
}

/** Makes a shadow repository; remove its folder to dispose of it. */
export async function makeShadow(options: ShadowOptions): Promise<ShadowRepository> {
  const { folder, workdir, repository, scratchDir } = options;
  const shadow = { folder, workdir, repository };
  const excludes = excludesBelow(topOf(shadow), [scratchDir, ...options.exclude]);
  await Promise.all([
    writeFile(join(folder, "HEAD"), "ref: refs/heads/none\n"),
    writeFile(join(folder, "config"), configText(options)),
    ...(repository === null ? [] : borrow(folder, repository)),
    writeExcludes(join(folder, "info/exclude"), { repository, text: excludes }),
  ]);
  return shadow;
}

/** Index and folders of a call of git in a shadow. */
export interface ShadowCall {
  /** File name of the index in the shadow's folder, or the absolute path of one elsewhere. */
  index: string;
  /** Result of {@link copyUserIndex}, where the index is such a copy. */
  mark?: string | null;
  signal: AbortSignal;
  stdin?: Uint8Array;
  /** Folder in which git runs; default the working directory. */
  cwd?: string;
  /** Top of the work tree; default that of the user's repository. */
  workTree?: string;
}

/**
 * Runs git in a shadow.
 * @returns its stdout
 * @throws as {@link git}
 */
export function gitInShadow(shadow: ShadowRepository, args: readonly string[], call: ShadowCall): Promise<Uint8Array> {
  return git(args, shadowRun(shadow, call));
}

/**
 * Lists the records of a run of git in a shadow.
 * @throws {BulkheadError} `io_error` for any exit code but 0; as {@link eachRecord}
 */
export async function recordsInShadow(
  shadow: ShadowRepository,
  args: readonly string[],
  call: ShadowCall,
): Promise<Uint8Array[]> {
  const records: Uint8Array[] = [];
  await eachInShadow(shadow, args, { ...call, take: (record) => records.push(record) });
  return records;
}

/**
 * Hands over the records of a run of git in a shadow, one by one.
 * @throws as {@link recordsInShadow}
 */
export async function eachInShadow(
  shadow: ShadowRepository,
  args: readonly string[],
  { take, ...call }: ShadowCall & { take: (record: Uint8Array) => void },
): Promise<void> {
  const outcome = await eachRecord(args, shadowRun(shadow, call), take);
  if (outcome.exit_code !== 0) throw gitError(args, outcome);
}

/** Has git write the tree of an index; objects need not be there. */
export async function treeOfIndex(shadow: ShadowRepository, call: ShadowCall): Promise<string> {
  return lineOf(await gitInShadow(shadow, ["write-tree", "--missing-ok"], call));
}

/** Takes paths out of an index. */
export async function dropFromIndex(
  shadow: ShadowRepository,
  paths: readonly Uint8Array[],
  call: ShadowCall,
): Promise<void> {
  if (paths.length === 0) return;
  const args = ["update-index", "--force-remove", "-z", "--stdin"];
  await gitInShadow(shadow, args, { ...call, stdin: joinNul(paths) });
}

/** Options for a run of git in a shadow. */
export function shadowRun(shadow: ShadowRepository, call: ShadowCall): GitRunOptions {
  return {
    cwd: call.cwd ?? shadow.workdir,
    signal: call.signal,
    stdin: call.stdin,
    env: {
      ...gitEnv,
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: "/dev/null",
      // No folder is there: git finds no settings of a person.
      HOME: join(shadow.folder, "home"),
      GIT_DIR: shadow.folder,
      GIT_WORK_TREE: call.workTree ?? topOf(shadow),
      GIT_INDEX_FILE: resolve(shadow.folder, call.index),
    },
  };
}

/** Top folder of the work tree that a shadow sees. */
export function topOf(shadow: ShadowRepository): string {
  return shadow.repository?.top ?? shadow.workdir;
}

/**
 * Copies the user's index into the shadow. The copy keeps the time of the original, or git would trust entries that
 * changed in the same tick as the index was written.
 * @returns text that changes with the index, wherever it lies; null where the index may change without a sign, and where
 * there is none
 */
export async function copyUserIndex(
  { folder, repository }: Pick<ShadowRepository, "folder" | "repository">,
  index: string,
): Promise<string | null> {
  if (repository === null) return null;
  const { gitDir } = repository;
  const before = Date.now();
  const [original, shared] = await Promise.all([
    copyWithTime(join(gitDir, "index"), join(folder, index)),
    copySharedIndexes(gitDir, folder),
  ]);
  const mark = original === null || shared > 0 ? null : markOfFile(original, { before });
  return mark === null ? null : `${gitDir}\n${mark}`;
}

/** A split index is two files, and git looks for the second one beside the config. Returns how many there are. */
async function copySharedIndexes(from: string, to: string): Promise<number> {
  const names = await readdir(from).catch(() => []);
  const shared = names.filter((name) => name.startsWith("sharedindex."));
  await Promise.all(shared.map((name) => copyWithTime(join(from, name), join(to, name))));
  return shared.length;
}

function borrow(folder: string, { gitDir, commonDir }: Repository): Promise<unknown>[] {
  const objects = join(commonDir, "objects").replace(/["\\]/g, "\\$&").replace(/\n/g, "\\n");
  return [
    writeFile(join(folder, "objects/info/alternates"), `"${objects}"\n`),
    copyWithTime(join(commonDir, "info/attributes"), join(folder, "info/attributes")),
    copyWithTime(join(gitDir, "info/sparse-checkout"), join(folder, "info/sparse-checkout")),
  ];
}

/** Writes the user's own excludes, and more behind them. */
async function writeExcludes(
  file: string,
  { repository, text }: { repository: Repository | null; text: string },
): Promise<void> {
  if (repository !== null) await copyWithTime(join(repository.commonDir, "info/exclude"), file);
  if (text !== "") await writeFile(file, text, { flag: "a" });
}

function excludesBelow(top: string, folders: readonly string[]): string {
  return folders.map((path) => relative(top, path))
    .filter((below) => below !== "" && below.split(sep)[0] !== ".." && !below.includes("\n"))
    .map((below) => `\n/${below.split(sep).join("/").replace(/[\\*?[ ]/g, "\\$&")}\n`)
    .join("");
}

function configText(options: ShadowOptions): string {
  const format = options.repository?.objectFormat ?? "sha1";
  const lines = ["[core]", `repositoryformatversion = ${format === "sha1" ? 0 : 1}`, "bare = false"];
  for (const [key, value] of options.settings) lines.push(`${key.slice("core.".length)} = ${quoted(value)}`);
  // git looks at files that are marked as left out of the checkout only where a checkout leaves some out. Else an agent
  // could mark a file in the user's index, and nothing would show its changes.
  lines.push("sparseCheckout = true");
  if (format !== "sha1") lines.push("[extensions]", `objectFormat = ${quoted(format)}`);
  return `${lines.join("\n")}\n`;
}
