import { isThere, plainText } from "../look-at.ts";
import { runIn } from "../find-repository.ts";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { copyWithTime } from "../../../ground/platform/files/copy-with-time.ts";
import { open, readdir, readFile, rename, rm } from "../../../ground/platform/files/files.ts";
import { randomId } from "../../../ground/platform/files/hash.ts";
import { join } from "../../../ground/platform/files/paths.ts";
import { wait } from "../../../ground/platform/engine/wait.ts";
import { git, linesIn } from "../git-call.ts";
import { changesBetween, type IndexChange, indexInfo, misfit } from "./index-changes.ts";
import type { PrivateRepository } from "./private-record.ts";
import { type GitState, stateNow } from "./private-state.ts";
import { checkedOut, symbolicTarget } from "./read-refs.ts";
import { emptyRepository, emptyRepositoryEnv, wholeIndex } from "./shape-index.ts";
import { heldChange } from "./look-at-commits.ts";
import { pathOf } from "./index-entries.ts";
import type { TakeOverPlan } from "./plan-take-over.ts";

/** A step of HEAD, the branch that is checked out, and the index, all of it or nothing. */
interface HeadMove extends Pick<TakeOverPlan, "known" | "place" | "sessionId" | "before" | "signal"> {
  /** Text of HEAD afterwards. */
  head: string;
  /** Lines for `git update-ref --stdin`, with the old values. */
  updates: readonly string[];
  index: readonly IndexChange[];
  /** Files of a merge that the agent has ended. */
  ended: readonly string[];
}

/** Why a step was not made: half a sentence. Null when it was. */
type Refusal = string | null;

/** Tries for the lock of the index, and the pause between them. Milliseconds. */
const mostTries = 20;
const retryMs = 100;

/** Moves all of it under git's lock of the index. The index comes first: a killed host leaves changes staged. */
export async function moveHead(move: HeadMove): Promise<Refusal> {
  const { known: { git_dir: gitDir }, sessionId, signal } = move;
  const lock = join(gitDir, "index.lock");
  if (!(await takeLock(lock, { sessionId, signal }))) return "another git was at work there";
  try {
    return await moveLocked(move);
  } finally {
    await rm(lock, { force: true });
  }
}

async function moveLocked(move: HeadMove): Promise<Refusal> {
  const { known, before } = move;
  const { git_dir: gitDir, common_dir: commonDir } = known;
  const now = await stateNow({ gitDir, commonDir });
  const because = movedMeanwhile(before, now) ?? await stagedMeanwhile(move, now.index);
  if (because !== null) return because;
  const index = join(gitDir, "index");
  const old = join(gitDir, `bulkhead-index-${randomId()}`);
  const hadIndex = await copyWithTime(index, old) !== null;
  try {
    if (move.index.length > 0) await writeIndex(move, index);
    const failure = await updateRefs(move);
    if (failure === null) return null;
    if (move.index.length > 0) await (hadIndex ? rename(old, index) : rm(index, { force: true }));
    return failure;
  } finally {
    await rm(old, { force: true });
  }
}

/** Reads an index that is in two files, or has folders instead of files. */
async function wholeOf({ known, place, signal }: HeadMove): Promise<Uint8Array> {
  const { git_dir: gitDir, common_dir: commonDir, object_format: objectFormat } = known;
  const folder = join(place, `index-${randomId()}`);
  return await readFile(await wholeIndex({ gitDir, commonDir, folder, objectFormat, signal }));
}

/** Finds why the step cannot be made in the repository as it is now. */
function movedMeanwhile(before: GitState, now: GitState): Refusal {
  if (now.head !== before.head) return "HEAD was moved meanwhile";
  if (now.commit !== before.commit) return "its branch was moved meanwhile";
  return merging.every((name) => before.under.get(name) === now.under.get(name))
    ? null
    : "a merge was begun or ended there meanwhile";
}

async function stagedMeanwhile(move: HeadMove, now: Uint8Array | null): Promise<Refusal> {
  const { known: { object_format: objectFormat }, before, index } = move;
  if (index.length === 0) return null;
  const theirs = now === null ? before.index === null ? [] : null : changesBetween(before.index, now, objectFormat) ??
    changesBetween(before.index, await wholeOf(move), objectFormat);
  if (theirs === null) return "the index there cannot be read";
  const fits = misfit(index, theirs);
  return fits === null ? null : `"${fits}" was staged there meanwhile`;
}

/** Entries that did not change keep the times and sizes that git knows of their files. */
async function writeIndex({ known, place, index: changes, signal }: HeadMove, index: string): Promise<void> {
  const { git_dir: gitDir, common_dir: commonDir, object_format: objectFormat } = known;
  const folder = join(place, `index-${randomId()}`);
  if (await isThere(index)) await wholeIndex({ gitDir, commonDir, folder, objectFormat, signal });
  else await emptyRepository(folder, { objectFormat });
  const args = ["-c", "core.splitIndex=false", "update-index", "-z", "--index-info"];
  await git(args, { cwd: folder, env: emptyRepositoryEnv(folder), stdin: indexInfo(changes), signal });
  const draft = join(known.git_dir, `bulkhead-index-${randomId()}`);
  await copyWithTime(join(folder, "index"), draft);
  await rename(draft, index);
}

async function updateRefs({ known, updates, before, head, ended, sessionId, signal }: HeadMove): Promise<Refusal> {
  const { git_dir: gitDir, head: old } = known;
  const target = symbolicTarget(head);
  // A deadline must not leave half of it.
  signal.throwIfAborted();
  const run = runIn(gitDir);
  const message = `bulkhead: session ${sessionId}`;
  const detached = target === null && head !== old ? [`option no-deref`, `update HEAD ${head} ${before.commit}`] : [];
  const lines = [...updates, ...detached];
  try {
    if (lines.length > 0) {
      await git(["update-ref", "-m", message, "--stdin"], { ...run, stdin: linesIn(lines) });
    }
    if (target !== null && head !== old) await git(["symbolic-ref", "-m", message, "HEAD", target], run);
  } catch (error) {
    if (error instanceof BulkheadError) return `git refused it: ${error.message.replace(/\.$/, "")}`;
    throw error;
  }
  await Promise.all(ended.map((name) => rm(join(gitDir, name), { force: true })));
  return null;
}

async function takeLock(
  lock: string,
  { sessionId, signal }: { sessionId: string; signal: AbortSignal },
): Promise<boolean> {
  for (let tries = 1;; tries++) {
    const file = await open(lock, "wx", 0o600).catch((error: unknown) => {
      if (error instanceof Error && "code" in error && error.code === "EEXIST") return null;
      throw error;
    });
    if (file !== null) {
      await file.writeFile(lockText(sessionId));
      await file.close();
      return true;
    }
    if (tries === mostTries) return false;
    await wait(retryMs, signal);
  }
}

function lockText(sessionId: string): string {
  return `bulkhead ${sessionId}\n`;
}

/** Removes the lock, and drafts, of a host that was killed while it held the index of a session's repository. */
export async function dropOwnLock({ git_dir: gitDir }: PrivateRepository, sessionId: string): Promise<void> {
  const lock = join(gitDir, "index.lock");
  if (await plainText(lock, 4096) !== lockText(sessionId)) return;
  const drafts = (await readdir(gitDir)).filter((name) => /^bulkhead-index-[0-9a-f]+$/.test(name));
  await Promise.all([lock, ...drafts.map((name) => join(gitDir, name))].map((file) => rm(file, { force: true })));
}

/** Why HEAD, its branch and the index do not move. */
interface HeadRefusal {
  because: string;
  isHeld: boolean;
}

/** Answers about objects that were taken. */
interface Answers {
  /** Why an object cannot be used; null where it can. */
  lost(id: string): string | null;
  /** Why the commits up to one must be looked at first; null where they need not be. */
  held(tip: string): Promise<string | null>;
}

/** Files that say that a merge is under way. */
const merging = ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"];

/** Makes the step of HEAD, branch and index that follows from what the agent did, or says why there is none. */
export async function headStep(plan: TakeOverPlan, answers: Answers): Promise<HeadMove | HeadRefusal> {
  const { known, place, sessionId, signal, before, after, index } = plan;
  const because = await refusal(plan, answers);
  if (because !== null) return because;
  const target = symbolicTarget(after.head);
  const isDetached = target === null || plan.isWorktree && symbolicTarget(before.head) === null;
  const old = target === null ? null : before.refs.ids.get(target) ?? null;
  const updates = isDetached || after.commit === null || after.commit === old
    ? []
    : [`update ${target} ${after.commit} ${old ?? "0".repeat(after.commit.length)}`];
  return {
    known,
    place,
    sessionId,
    before,
    head: isDetached ? after.commit! : after.head,
    updates,
    index: index!,
    ended: merging.concat("MERGE_MODE", "MERGE_MSG").filter((name) => before.under.has(name) && !after.under.has(name)),
    signal,
  };
}

async function refusal(plan: TakeOverPlan, { lost, held }: Answers): Promise<HeadRefusal | null> {
  const { known, before, after, reached, index, rules } = plan;
  const no = (because: string, isHeld = false): HeadRefusal => ({ because, isHeld });
  if (reached.isRebasing) return no("the agent left a rebase half done");
  const isMerging = merging.some((name) => after.under.has(name) && before.under.get(name) !== after.under.get(name));
  if (isMerging) return no("the agent left a merge half done");
  if (index === null) return no("the agent's index cannot be read");
  const target = symbolicTarget(after.head);
  const start = symbolicTarget(before.head);
  if (target === null && start !== null) return no("HEAD names no branch there");
  if (target !== null && !target.startsWith("refs/heads/")) return no("HEAD names no branch there");
  if (after.commit === null && before.commit !== null) return no("its branch has no commit there");
  if (after.commit === null && target !== start) return no("its branch has no commit there");
  if (plan.isWorktree && start !== null) return no("branches of the repository stay as they are");
  const isOther = target !== null && target !== start && !plan.isWorktree;
  const user = isOther ? (await checkedOut(known.common_dir)).get(target) : undefined;
  if (user !== undefined && user !== known.git_dir) {
    return no("its branch is checked out in another worktree");
  }
  const ids = index.flatMap(([, entry]) => entry === null || entry.mode === "160000" ? [] : [entry.id]);
  for (const id of [...(after.commit === null ? [] : [after.commit]), ...ids]) {
    const because = lost(id);
    if (because !== null) return no(because);
  }
  const commits = after.commit === null || after.commit === before.commit ? null : await held(after.commit);
  if (commits !== null) return no(commits, true);
  for (const [key, entry] of index) {
    const isKnown = entry?.mode === "160000" && known.pointers.includes(pathOf(key));
    const because = isKnown ? null : heldChange(pathOf(key), { mode: entry?.mode ?? null, rules });
    if (because !== null) return no(because, true);
  }
  return null;
}
