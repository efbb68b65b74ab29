import { runIn } from "../find-repository.ts";
import { isThere } from "../look-at.ts";
import { runGit } from "../../../ground/platform/processes/git-program.ts";
import { rm } from "../../../ground/platform/files/files.ts";
import { join } from "../../../ground/platform/files/paths.ts";
import { eachRecord, gitError, lineOf } from "../git-call.ts";
import { checkedOut, topOf } from "./read-refs.ts";
import { quoteWord } from "../../../ground/config/grant-command.ts";
import { pathOf, readIndexEntries } from "./index-entries.ts";
import type { TakeOverPlan } from "./plan-take-over.ts";
import type { PrivateRepository } from "./private-record.ts";
import { randomId } from "../../../ground/platform/files/hash.ts";
import { indexInfo } from "./index-changes.ts";

/** Something that the repository has under a ref of the session. */
interface Kept {
  /** Its name in the agent's git folder. */
  name: string;
  id: string;
  keptAs: string;
}

/** Files that a command names one by one, and files of a commit that are looked up. */
const mostNamed = 20;
const mostFiles = 2000;

/** Command that gives the repository, as it is now, what is kept of an agent. It takes nothing from the person. */
export async function wayBack(plan: TakeOverPlan, kept: Kept): Promise<string> {
  const { name, keptAs } = kept;
  const ref = quoteWord(keptAs);
  if (name === "HEAD" || name.startsWith("refs/heads/")) return await backOnBranch(plan, kept);
  if (name.startsWith("stash@")) return `git stash apply ${ref}`;
  return name.startsWith("refs/") ? `git update-ref ${quoteWord(name)} ${ref}` : `git log ${ref}`;
}

/** A branch that is checked out moves with its files, and none moves away from commits of the person. */
async function backOnBranch({ known, before }: TakeOverPlan, { name, id, keptAs }: Kept): Promise<string> {
  const { git_dir: own, common_dir: commonDir, top: ownTop } = known;
  const ref = quoteWord(keptAs);
  const used = name === "HEAD" ? own : (await checkedOut(commonDir)).get(name);
  if (used !== undefined) {
    const top = used === own ? ownTop : await topOf(used, commonDir);
    if (top === null) return `git log ${ref}`;
    const git = used === own ? "git" : `git -C ${quoteWord(top)}`;
    const files = await inTheWay({ gitDir: used, top, branch: "HEAD" }, id);
    return `${addition(git, files)}${git} merge ${await mergeWords(used, ["HEAD", id])} ${ref}`;
  }
  const now = await runGit(["rev-parse", "--verify", "-q", name], runIn(own));
  const old = now.exit_code === 0 ? lineOf(now.stdout) : null;
  if (old !== null && old !== before.refs.ids.get(name)) {
    const files = await inTheWay({ gitDir: own, top: ownTop, branch: name }, id);
    const merge = `${addition("git", files)}git merge ${await mergeWords(own, [name, id])} ${ref}`;
    return `git switch ${quoteWord(name.slice("refs/heads/".length))} && ${files.length > 0 ? `{ ${merge}; }` : merge}`;
  }
  return `git update-ref ${quoteWord(name)} ${ref}${old === null ? "" : ` ${old}`}`;
}

/** An agent that rewrote the first commit has a history with nothing in common. */
async function mergeWords(gitDir: string, sides: readonly [branch: string, commit: string]): Promise<string> {
  const { exit_code: exitCode } = await runGit(["merge-base", ...sides], runIn(gitDir));
  return exitCode === 1 ? "--autostash --allow-unrelated-histories" : "--autostash";
}

/** git merges over no file that it does not know; what it knows it puts aside, and compares afterwards. */
function addition(git: string, files: readonly string[]): string {
  if (files.length === 0) return "";
  // A person may have removed them by then.
  return `${git} add ${areNamed(files) ? `-f ${pathWords(files)}` : "-A :/"}; `;
}

/** Whether a command can name files one by one: an agent chose the names, and a terminal must show them as they are. */
function areNamed(paths: readonly string[]): boolean {
  return paths.length <= mostNamed && !paths.some((path) => /[\p{C}\p{Zl}\p{Zp}\uFFFD]/u.test(path));
}

/** Paths below the top of the work tree, as words of a command that is run anywhere in it (gitglossary(7), "pathspec"). */
function pathWords(paths: readonly string[]): string {
  return paths.map((path) => quoteWord(/^[\w.][^*?[\\]*$/.test(path) ? `:/${path}` : `:(top,literal)${path}`)).join(
    " ",
  );
}

/**
 * Files of a work tree that a commit has and a branch lacks: an agent that committed in place leaves them there.
 * @returns of many, one more than a command names
 */
async function inTheWay(
  { gitDir, top, branch }: { gitDir: string; top: string; branch: string },
  commit: string,
): Promise<string[]> {
  const args = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=A", branch, commit];
  const paths = await pathsOf(args, gitDir);
  const found: string[] = [];
  for (const path of paths.slice(0, mostFiles)) {
    if (await isThere(join(top, path))) found.push(path);
    if (found.length > mostNamed) break;
  }
  return found;
}

/**
 * Command that stages what an agent staged and did not commit.
 * @returns null where that is nothing
 */
export async function stageAgain(plan: TakeOverPlan, { id, keptAs }: Omit<Kept, "name">): Promise<string | null> {
  const { known, after: { commit }, index } = plan;
  const changed = new Set((index ?? []).map(([key]) => pathOf(key)));
  const args = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", commit ?? emptyTree(known), id];
  const paths = (await pathsOf(args, known.git_dir)).filter((path) => changed.has(path));
  if (paths.length === 0) return null;
  const restore = `git restore --staged --source=${quoteWord(keptAs)}`;
  if (areNamed(paths)) return `${restore} ${pathWords(paths)}`;
  const list = `git diff --name-only -z ${commit ?? emptyTree(known)} ${quoteWord(keptAs)}`;
  return `${list} | ${restore} --pathspec-from-file=- --pathspec-file-nul`;
}

function emptyTree({ object_format }: Pick<PrivateRepository, "object_format">): string {
  return object_format === "sha1"
    ? "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
    : "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";
}

async function pathsOf(args: readonly string[], gitDir: string): Promise<string[]> {
  const paths: string[] = [];
  await eachRecord(args, runIn(gitDir), (record) => void paths.push(new TextDecoder().decode(record)));
  return paths;
}

/**
 * Stores an agent's index that does not move as a tree in the repository.
 * @returns null where it has nothing that its commit does not have
 */
export async function keepIndex(
  { known, after, place, signal }: TakeOverPlan,
): Promise<{ id: string } | { because: string } | null> {
  if (after.index === null) return null;
  const entries = readIndexEntries(after.index, known.object_format);
  if (entries === null) return { because: "the agent's index cannot be read" };
  const index = join(place, `index-${randomId()}`);
  const { cwd, env } = runIn(known.git_dir);
  const run = { cwd, env: { ...env, GIT_INDEX_FILE: index }, signal };
  try {
    // Of a conflict the agent's own side is kept; the other one is a commit.
    const wanted = [...entries].filter(([, { stage, isIntended }]) => (stage === 0 || stage === 2) && !isIntended)
      .map(([key, entry]) => [key, { ...entry, stage: 0 }] as const);
    const stdin = indexInfo(wanted);
    for (
      const [args, input] of [[["update-index", "-z", "--index-info"], stdin], [["write-tree"], undefined]] as const
    ) {
      const outcome = await runGit(args, { ...run, stdin: input });
      if (outcome.exit_code !== 0) return { because: gitError(args, outcome).message.replace(/\.$/, "") };
      if (input !== undefined) continue;
      const id = lineOf(outcome.stdout);
      return id === await treeOf(after.commit, run) ? null : { id };
    }
    return null;
  } finally {
    await rm(index, { force: true });
  }
}

async function treeOf(commit: string | null, run: { cwd: string; env: Record<string, string>; signal: AbortSignal }) {
  if (commit === null) return null;
  const outcome = await runGit(["rev-parse", "--verify", "-q", `${commit}^{tree}`], run);
  return outcome.exit_code === 0 ? lineOf(outcome.stdout) : null;
}
