import { plainText } from "./look-at.ts";
import { hostEnv } from "../../ground/platform/engine/platform.ts";
import { runGit } from "../../ground/platform/processes/git-program.ts";
import { isInside, join, relative, resolve, sep } from "../../ground/platform/files/paths.ts";
import { eachRecord, git, gitEnv, gitError, lineOf } from "./git-call.ts";

/** The repository that a working directory lies in. */
export interface Repository {
  /** Top folder of the work tree. */
  top: string;
  /** Path from `top` to the working directory, with `/` at its end; empty when it is the top. */
  prefix: string;
  /** Holds index and HEAD; a linked worktree has its own. */
  gitDir: string;
  /** Holds objects and `info`; shared by linked worktrees. */
  commonDir: string;
  objectFormat: string;
  /** The commit that HEAD named when it was found; null before the first commit. */
  head: string | null;
}

/** Place in which git is asked. `workdir` is a real absolute path. */
export interface GitPlace {
  workdir: string;
  signal: AbortSignal;
}

/**
 * Finds the repository whose work tree holds the working directory. Only reads: no question runs a program that a
 * repository's config names.
 * @returns null outside any work tree, also in a bare repository and inside `.git`
 * @throws {BulkheadError} `git_missing`, `io_error`
 */
export async function findRepository(place: GitPlace): Promise<Repository | null> {
  const args = ["rev-parse", "--is-inside-work-tree", ...questions, "HEAD"];
  const outcome = await runGit(args, { cwd: place.workdir, env: readingEnv(), signal: place.signal });
  const [inside, ...answers] = lineOf(outcome.stdout).split("\n");
  // Before the first commit git answers all but the last, and fails.
  if (outcome.exit_code !== 0 && (inside !== "true" || answers.length < questions.length)) {
    if (inside === "false" || /not a git repository|cannot use bare repository/.test(outcome.stderr)) return null;
    throw gitError(args, outcome);
  }
  if (inside !== "true") return null;
  const [objectFormat = "", gitDir = "", commonDir = "", top = "", head = "", ...more] = answers;
  if (more.length > 0) return await findOneByOne(place, objectFormat);
  return repositoryAt(place, { objectFormat, gitDir, commonDir, top, head: outcome.exit_code === 0 ? head : null });
}

const questions = ["--show-object-format", "--absolute-git-dir", "--git-common-dir", "--show-toplevel"];

/** Asks for each path alone: one of them holds the end of a line. */
async function findOneByOne(place: GitPlace, objectFormat: string): Promise<Repository | null> {
  const [gitDir, commonDir, top, head] = await Promise.all([
    ask(place, "--absolute-git-dir"),
    ask(place, "--git-common-dir"),
    ask(place, "--show-toplevel"),
    readHead(place),
  ]);
  return repositoryAt(place, { objectFormat, gitDir, commonDir, top, head });
}

function repositoryAt({ workdir }: GitPlace, found: Omit<Repository, "prefix">): Repository | null {
  // A `core.worktree` in the config can point anywhere.
  if (!isInside(found.top, workdir)) return null;
  const below = relative(found.top, workdir);
  return {
    ...found,
    prefix: below === "" ? "" : `${below.split(sep).join("/")}/`,
    commonDir: resolve(workdir, found.commonDir),
  };
}

/**
 * The commit that HEAD names; null before the first commit and outside a repository.
 * @param gitDirs folders of the repository, where they are known: most often two files tell it as well as git
 */
export async function readHead(
  place: GitPlace,
  gitDirs?: Pick<Repository, "gitDir" | "commonDir">,
): Promise<string | null> {
  const read = gitDirs === undefined ? null : await headFromFiles(gitDirs);
  if (read !== null) return read;
  const args = ["rev-parse", "--verify", "-q", "HEAD"];
  const outcome = await runGit(args, { cwd: place.workdir, env: readingEnv(), signal: place.signal });
  return outcome.exit_code === 0 ? lineOf(outcome.stdout) : null;
}

/** Null where files of the simplest forms do not tell: another way to store names, no commit. */
async function headFromFiles({ gitDir, commonDir }: Pick<Repository, "gitDir" | "commonDir">): Promise<string | null> {
  const head = await lineIn(join(gitDir, "HEAD"));
  const name = /^ref: (refs\/heads\/[^\s.][^\s]*)$/.exec(head)?.[1];
  if (name === undefined || name.includes("..")) return commitIn(head);
  return commitIn(await lineIn(join(commonDir, name)) || await packedLine(join(commonDir, "packed-refs"), name));
}

function commitIn(text: string): string | null {
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text) ? text : null;
}

/** The commit of a name in the file of packed names (gitrepository-layout(5)); empty where it is not there. */
async function packedLine(path: string, name: string): Promise<string> {
  const line = (await plainText(path, 1024 * 1024)).split("\n").find((one) => one.endsWith(` ${name}`));
  return line?.slice(0, -name.length - 1) ?? "";
}

async function lineIn(path: string): Promise<string> {
  return (await plainText(path, 4096)).replace(/\n$/, "");
}

/** Returns the commit of a folder that is a repository of its own; null for none. */
export async function ownCommit(place: GitPlace): Promise<string | null> {
  const args = [`--git-dir=${join(place.workdir, ".git")}`, "rev-parse", "--verify", "-q", "HEAD"];
  const outcome = await runGit(args, { cwd: place.workdir, env: readingEnv(), signal: place.signal });
  return outcome.exit_code === 0 ? lineOf(outcome.stdout) : null;
}

/** Settings that affect which files git sees in a work tree; none of them names a program. */
const copiedSettings = new Set([
  "core.autocrlf",
  "core.eol",
  "core.filemode",
  "core.ignorecase",
  "core.symlinks",
  "core.precomposeunicode",
  "core.trustctime",
  "core.checkstat",
  "core.sparsecheckout",
  "core.sparsecheckoutcone",
]);

interface GitSettings {
  settings: Map<string, string>;
  /** Absolute paths of the files that have settings, and of those of the user that may have some later. */
  files: string[];
}

/**
 * The user's and the repository's settings that affect which files git sees, and the user's own exclude file. Reads all
 * settings and keeps only these few, to exclude filters, hooks and helpers of a hostile repository.
 * @throws {BulkheadError} `git_missing`, `io_error`
 */
export async function readSettings(place: GitPlace): Promise<GitSettings> {
  const settings = new Map<string, string>();
  const configHome = join(hostEnv("XDG_CONFIG_HOME") ?? join(home(), ".config"), "git");
  const files = new Set([join(home(), ".gitconfig"), join(configHome, "config")]);
  let excludesFile = join(configHome, "ignore");
  for (const { file, key, value } of await allSettings(place)) {
    if (file !== null) files.add(file);
    if (key === "core.excludesfile") excludesFile = value.startsWith("~/") ? join(home(), value.slice(2)) : value;
    if (copiedSettings.has(key)) settings.set(key, value);
  }
  settings.set("core.excludesfile", resolve(place.workdir, excludesFile));
  return { settings, files: [...files] };
}

/** A setting, and the absolute path of the file that it stands in; null for one of the call itself. */
export interface Setting {
  file: string | null;
  key: string;
  value: string;
}

/**
 * Every setting that counts, included ones too.
 * @param place.gitDir the repository that is asked; absent: the one that git finds
 * @throws {BulkheadError} as {@link readSettings}
 */
export async function allSettings(
  { workdir, gitDir, signal }: GitPlace & { gitDir?: string | undefined },
): Promise<Setting[]> {
  const texts: string[] = [];
  const args = ["config", "--list", "-z", "--show-origin"];
  const where = gitDir === undefined ? [] : ["--git-dir", gitDir];
  const run = { cwd: workdir, env: readingEnv(), signal };
  const outcome = await eachRecord([...where, ...args], run, (one) => texts.push(new TextDecoder().decode(one)));
  if (outcome.exit_code !== 0) throw gitError(args, outcome);
  const settings: Setting[] = [];
  for (let at = 0; at + 1 < texts.length; at += 2) {
    const [origin = "", text = ""] = texts.slice(at, at + 2);
    const file = origin.startsWith("file:") ? resolve(workdir, origin.slice("file:".length)) : null;
    const end = text.indexOf("\n");
    // A key without a value is a true boolean.
    settings.push(
      end === -1 ? { file, key: text, value: "true" } : { file, key: text.slice(0, end), value: text.slice(end + 1) },
    );
  }
  return settings;
}

async function ask(place: GitPlace, question: string): Promise<string> {
  return lineOf(await git(["rev-parse", question], { cwd: place.workdir, env: readingEnv(), signal: place.signal }));
}

/** The environment of questions to the user's own repository, with the user's own config. They only read. */
export function readingEnv(): Record<string, string> {
  const configHome = hostEnv("XDG_CONFIG_HOME");
  return { ...gitEnv, HOME: home(), ...(configHome === undefined ? {} : { XDG_CONFIG_HOME: configHome }) };
}

/** Options for a run of git in a repository's own git folder, with the user's own config. */
export function runIn(gitDir: string): { cwd: string; env: Record<string, string> } {
  return { cwd: gitDir, env: { ...readingEnv(), GIT_DIR: gitDir } };
}

function home(): string {
  return hostEnv("HOME") ?? "/nonexistent";
}
