import { namedPaths } from "../git/git-call.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { constants, lstat, open, readFile, readlink } from "../../ground/platform/files/files.ts";
import { factsOfMany } from "../../ground/platform/files/file-mark.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { createBlobId } from "../../ground/platform/files/hash.ts";
import { platform } from "../../ground/platform/engine/platform.ts";
import { isBehindLink, isThere } from "../git/look-at.ts";
import { pathKey } from "../git/git-call.ts";
import { pathText } from "../git/raw-diff.ts";
import { readHead } from "../git/find-repository.ts";
import { restoreFiles } from "../git/restore-files.ts";
import { type ShadowRepository, topOf } from "../git/shadow-repository.ts";
import { inTheWay } from "../git/write-swap.ts";
import { type BlobChange, blobChanges, foldersOf, treesOf } from "./blob-changes.ts";
import { blobsOf, keepObjects, missingObjects } from "./kept-objects.ts";
import { type LineStep, type PathBack, planRewind, type RewindFacts } from "./plan-rewind.ts";
import type { StoredSwap } from "./store-record.ts";
import { belowTop, type StoreWork, treeWith, withSpareIndex } from "./store-work.ts";
import { readOpen } from "./turn-files.ts";

/** Options of a plan. */
export interface RewindOptions {
  /** Leaves alone the paths that others changed as well, instead of refusing. */
  keepTheirs?: boolean;
  /** Takes back also what nothing shows to be the agent's. */
  unclaimed?: boolean;
  /** Paths that turns of other sessions changed, absolute or relative to the working directory. */
  others?: readonly string[];
}

interface RewindFile {
  /** Relative to the working directory, with `/`. */
  path: string;
  /** `removed`: it was not there before. `brought_back`: it is not there now. */
  change: "restored" | "removed" | "brought_back";
}

/** Everything that a rewind of files would do, and does: the dry run is the plan. Paths are relative to the working directory. */
export interface RewindPlan {
  /** Turn after which the files are then as they were; 0 for before all of them. */
  to: number;
  undo: boolean;
  /** Trees of the work tree before and after. */
  now: string;
  want: string;
  files: RewindFile[];
  /** Changed by the agent and by others as well; `keep_theirs` leaves them alone. */
  conflicts: string[];
  /** Of the conflicts: git ignores what stands there. */
  in_the_way: string[];
  /** Changed within turns, by whom nothing shows; they stay. */
  unclaimed: string[];
  /** In repositories within the work tree, or there before and ignored then; they stay. */
  left: string[];
  /** Contents of these are no longer there to be written, now or by an undo: nothing is done. */
  objects_gone: string[];
  keep_theirs: boolean;
  /** Operation of git that a person, or the agent, has not finished; null for none. */
  under_way: "merge" | "rebase" | "cherry-pick" | "revert" | "bisect" | null;
  /** The turns that are taken back made commits, or moved HEAD: those stay as they are. */
  head_moved: boolean;
  /** Turns whose changes are in the files, before and after. */
  line_before: number[];
  line_after: number[];
}

/** The moment that files go back to. */
type RewindGoal = { to: number } | { undo: true };

/**
 * Plans a rewind: looks at the files, and writes nothing to them.
 * @throws {BulkheadError} `not_found` for a turn that is not in the files, or no longer kept; `io_error`
 */
export async function planFiles(work: StoreWork, goal: RewindGoal & RewindOptions): Promise<RewindPlan> {
  const { shadow, record } = work;
  const { tree: now } = await work.index.look(work);
  const { keepTheirs = false, others = [] } = goal;
  const steps = "undo" in goal ? await stepsOfUndo(work, now) : await stepsSince(work, { to: goal.to, now });
  const prefix = new TextEncoder().encode(shadow.repository?.prefix ?? "");
  const planned = planRewind({
    steps: steps.steps,
    takesUnclaimed: "undo" in goal || goal.unclaimed === true,
    others: belowTop(shadow, others).map((path) => new TextEncoder().encode(path)),
    names: namesOf(work),
  });
  const wanted: PathBack[] = [];
  for (const one of planned.back) if (!await isThereAlready(topOf(shadow), one)) wanted.push(one);
  const blocked = await blockedBy(shadow, wanted);
  const back = wanted.filter(({ path }) => !blocked.has(pathKey(path)));
  const want = await treeWith(work, { tree: now, paths: back });
  const gone = await missingObjects(shadow, { ids: idsOf(back), call: { index: "none", signal: work.signal } });
  const shown = (path: Uint8Array) => pathText(path.subarray(prefix.length));
  const ways = wanted.filter(({ path }) => blocked.has(pathKey(path))).map(({ path }) => shown(path)).sort();
  return {
    to: steps.to,
    undo: "undo" in goal,
    now,
    want,
    files: back.map((one) => ({ path: shown(one.path), change: changeOf(one) })).sort(byPath),
    conflicts: [...planned.conflicts.map(shown), ...ways].sort(),
    in_the_way: ways,
    unclaimed: planned.unclaimed.map(shown).sort(),
    left: planned.left.map(shown).sort(),
    objects_gone: back.filter((one) => [...idsOf([one])].some((id) => gone.has(id))).map(({ path }) => shown(path)),
    keep_theirs: keepTheirs,
    under_way: await underWay(shadow),
    head_moved: steps.head !== undefined && steps.head !== await headOf(work),
    line_before: record.line,
    line_after: steps.line,
  };
}

/** Whether a file that a tree does not have is on the disk as it was: git ignores it now. */
async function isThereAlready(top: string, { path, now, back }: PathBack): Promise<boolean> {
  if (now !== null || back === null) return false;
  const text = pathText(path);
  const found = await lstat(join(top, text)).catch(() => null);
  if (found === null || await isBehindLink(top, text)) return false;
  const [isLink, isProgram] = [back.mode === "120000", back.mode === "100755"];
  const isKind = isLink ? found.isSymbolicLink() : found.isFile() && ((found.mode & 0o100) !== 0) === isProgram;
  if (!isKind || found.size > mostCompared) return false;
  const content = isLink ? new TextEncoder().encode(await readlink(join(top, text))) : await readFile(join(top, text));
  return createBlobId(content, back.id.length === 64 ? "sha256" : "sha1") === back.id;
}

const mostCompared = 64 * 1024 * 1024;

function byPath(one: { path: string }, other: { path: string }): number {
  return one.path < other.path ? -1 : 1;
}

function changeOf({ now, back }: PathBack): RewindFile["change"] {
  return back === null ? "removed" : now === null ? "brought_back" : "restored";
}

function idsOf(back: readonly PathBack[]): Set<string> {
  return blobsOf(back.map(({ now, back: old }) => ({ old, new: now })));
}

/** Returns the keys of paths that cannot come back: an ignored file, or a folder with one, stands there. */
export async function blockedBy(shadow: ShadowRepository, back: readonly PathBack[]): Promise<Set<string>> {
  const changes = back.flatMap(({ path, now, back: old }) =>
    now !== null && old !== null ? [] : [{ status: old === null ? "D" as const : "A" as const, path }]
  );
  const texts = new Set(await inTheWay(topOf(shadow), changes));
  const isBlocked = (path: string) =>
    texts.has(path) || foldersOf(path).some((folder) => texts.has(folder)) ||
    [...texts].some((one) => one.startsWith(`${path}/`));
  return new Set(
    texts.size === 0 ? [] : back.filter(({ path }) => isBlocked(pathText(path))).map(({ path }) => pathKey(path)),
  );
}

interface PlanSteps {
  steps: LineStep[];
  to: number;
  line: number[];
  /** HEAD before the first of the turns; undefined where none is taken back. */
  head?: string | null;
}

async function stepsSince(work: StoreWork, { to, now }: { to: number; now: string }): Promise<PlanSteps> {
  const { record, shadow, signal } = work;
  const { line, dropped, turns } = record;
  // The files before the oldest turn are those after the one before it, which need not be kept itself.
  const least = (turns[0]?.turn ?? dropped + 1) - 1;
  if (to < least) {
    const why = dropped > 0 ? "it is too long ago, and its files are no longer kept" : "its files were not kept";
    throw noTurn(to, why, { hint: `Run: bulkhead session rewind <id> --to ${least}` });
  }
  if (to !== least && !line.includes(to)) throw noTurn(to, "its changes are not in the files", { turns: line });
  const call = { index: "none", signal };
  const diff = (from: string, until: string) => blobChanges(shadow, { from, to: until, call });
  const later = line.filter((turn) => turn > to).map((turn) => turns.find((one) => one.turn === turn)!);
  const steps: LineStep[] = [];
  let last = turns.find((one) => one.turn === to)?.after ?? null;
  if (to !== least && last === null) throw noTurn(to, "the files after it are not known");
  for (const one of later) {
    if (one.after === null) throw noTurn(to, `the files after turn ${one.turn} are not known`);
    if (last !== null) steps.push(other(await diff(last, one.before)));
    const open = await readOpen(shadow.folder, one);
    steps.push({ turn: one.turn, changes: await diff(one.before, one.after), open });
    last = one.after;
  }
  if (last !== null) steps.push(other(await diff(last, now)));
  const [first] = later;
  return {
    steps,
    to,
    line: line.filter((turn) => turn <= to),
    ...(first === undefined ? {} : { head: first.head_before }),
  };
}

function other(changes: readonly BlobChange[]): LineStep {
  return { turn: null, changes, open: noneOpen };
}

const noneOpen = { unclaimed: new Set<string>(), surfaced: new Set<string>() };

/** The last swap backwards; what was changed since is another's. */
async function stepsOfUndo({ record, shadow, signal }: StoreWork, now: string): Promise<PlanSteps> {
  const last = record.rewinds.at(-1);
  if (last === undefined) {
    throw new BulkheadError("not_found", "Cannot undo a rewind: no files of this conversation were taken back.");
  }
  const call = { index: "none", signal };
  const added = record.line.filter((turn) => !last.line_after.includes(turn));
  return {
    steps: [
      { turn: 0, changes: await blobChanges(shadow, { from: last.now, to: last.want, call }), open: noneOpen },
      other(await blobChanges(shadow, { from: last.want, to: now, call })),
    ],
    to: last.line_before.at(-1) ?? 0,
    line: [...last.line_before, ...added.filter((turn) => !last.line_before.includes(turn))],
  };
}

/** @param more its hint, and `turns`: those whose changes are in the files */
function noTurn(turn: number, why: string, more: { hint?: string; turns?: readonly number[] } = {}): BulkheadError {
  const { hint = "Run: bulkhead session show <id>", ...details } = more;
  return new BulkheadError("not_found", `Cannot take the files back to turn ${turn}: ${why}.`, {
    hint,
    details,
  });
}

/** Whether two names that differ in case or composition are one file here. */
function namesOf({ settings }: StoreWork): RewindFacts["names"] {
  return settings.get("core.ignorecase") === "true" || platform === "darwin" || platform === "win32"
    ? "folding"
    : "exact";
}

/** Returns the commit that HEAD names; null for none. */
export async function headOf({ shadow, signal }: StoreWork): Promise<string | null> {
  const { repository, workdir } = shadow;
  return repository === null ? null : await readHead({ workdir, signal }, repository);
}

const marks = [
  ["rebase-merge", "rebase"],
  ["rebase-apply", "rebase"],
  ["MERGE_HEAD", "merge"],
  ["CHERRY_PICK_HEAD", "cherry-pick"],
  ["REVERT_HEAD", "revert"],
  ["BISECT_LOG", "bisect"],
] as const;

async function underWay({ repository }: ShadowRepository): Promise<RewindPlan["under_way"]> {
  if (repository === null) return null;
  for (const [name, what] of marks) if (await isThere(join(repository.gitDir, name))) return what;
  return null;
}

/**
 * Does a plan: exactly that, or nothing. HEAD, index, branches and stash stay as they are.
 * @param save writes the record durably
 * @throws {BulkheadError} `conflict` with the paths in `details.paths`, also where files have changed since the plan;
 * `not_found` where contents are gone; `io_error`
 */
export async function runPlan(work: StoreWork, plan: RewindPlan, save: () => Promise<void>): Promise<void> {
  const { shadow, record } = work;
  if (plan.conflicts.length > 0 && !plan.keep_theirs) {
    throw conflict(plan.conflicts, "others have changed, too, or something that git ignores stands there");
  }
  if (plan.objects_gone.length > 0) throw objectsGone(plan.objects_gone);
  const swap: StoredSwap = {
    now: plan.now,
    want: plan.want,
    to: plan.to,
    line_before: plan.line_before,
    line_after: plan.line_after,
    undo: plan.undo,
    at: new Date().toISOString(),
    files: plan.files.length,
    left: plan.conflicts.length + plan.unclaimed.length + plan.left.length,
  };
  const { tree: now } = await work.index.look(work);
  const call = { index: "none", signal: work.signal };
  if (now !== plan.now) {
    const changes = await blobChanges(shadow, { from: plan.now, to: now, call });
    throw conflict(changes.map(({ path }) => pathText(path)), "have changed since the plan was made");
  }
  const changes = await blobChanges(shadow, { from: plan.now, to: plan.want, call });
  const blocked = await blockedBy(shadow, changes.map(({ path, old, new: back }) => ({ path, now: old, back })));
  if (blocked.size > 0) {
    const paths = changes.filter(({ path }) => blocked.has(pathKey(path))).map(({ path }) => pathText(path));
    throw conflict(paths, "are where something stands that git ignores");
  }
  const ids = blobsOf(changes);
  for (const id of await treesOf(shadow, { from: record.owned, to: plan.now, call })) ids.add(id);
  for (const id of await treesOf(shadow, { from: plan.now, to: plan.want, call })) ids.add(id);
  const { missing } = await keepObjects(shadow, { ids, call });
  if (missing.size > 0) {
    const lost = changes.filter((one) => [...blobsOf([one])].some((id) => missing.has(id)));
    throw objectsGone(lost.map(({ path }) => pathText(path)));
  }
  record.owned = plan.want;
  record.swap = swap;
  await save();
  try {
    await writeBack(work, { from: plan.now, to: plan.want });
  } catch (cause) {
    throw await notWritten(work, { plan, save, cause });
  }
  endSwap(work, swap);
  await save();
}

/** A failed write leaves nothing half done where that can be helped; else the next act in the store finishes it. */
async function notWritten(
  work: StoreWork,
  { plan, save, cause }: { plan: RewindPlan; save: () => Promise<void>; cause: unknown },
): Promise<BulkheadError> {
  const isUndone = await writeBack(work, { from: plan.want, to: plan.now }).then(() => true, () => false);
  if (isUndone) {
    work.record.swap = null;
    await save();
  }
  const why = cause instanceof Error ? cause.message : String(cause);
  return new BulkheadError("io_error", `Cannot take the files back: ${why}`, {
    hint: isUndone
      ? "Nothing was changed."
      : "Some files are written. Mend the cause and try again: that is finished first.",
    details: { half_written: !isUndone },
    cause,
  });
}

/** Writes down that a swap is in the files. */
export function endSwap({ record }: StoreWork, swap: StoredSwap): void {
  record.line = swap.line_after;
  record.rewinds = [...record.rewinds, swap].slice(-mostRewinds);
  record.swap = null;
}

const mostRewinds = 20;

/**
 * Takes the files from one tree to another. Nothing aborts a swap that is being written.
 * @throws {BulkheadError} `io_error`
 */
export async function writeBack(work: StoreWork, { from, to }: { from: string; to: string }): Promise<void> {
  const signal = new AbortController().signal;
  const changes = await blobChanges(work.shadow, { from, to, call: { index: "none", signal } });
  const files = changes.filter((one) => one.old !== null && one.new !== null)
    .map(({ path }) => join(topOf(work.shadow), pathText(path)));
  const before = await factsOfMany(files);
  await withSpareIndex({ ...work, signal }, (call) => {
    return restoreFiles(work.shadow, { ours: to, merged: from, now: null, call });
  });
  const after = await factsOfMany(files);
  for (const [at, file] of files.entries()) {
    const [was, is] = [before[at], after[at]];
    if (was?.isFile() && is?.isFile()) await keepRights(file, { was: was.mode, is: is.mode });
  }
}

/** Git knows of a file's rights only whether it is a program: who may read and write it stays as it was. */
async function keepRights(path: string, { was, is }: { was: number; is: number }): Promise<void> {
  const mode = (was & 0o666) | ((is & 0o100) === 0 ? 0 : (was & 0o444) >> 2);
  if (mode === (is & 0o777)) return;
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null);
  await file?.chmod(mode).catch(() => {});
  await file?.close();
}

function conflict(paths: readonly string[], why: string): BulkheadError {
  const named = namedPaths(paths, { many: "," });
  return new BulkheadError("conflict", `Cannot take the files back: ${named} ${why}.`, {
    hint: "Nothing was changed. Look at the dry run; keep_theirs leaves these files alone.",
    details: { paths: paths.slice(0, 1000) },
  });
}

function objectsGone(paths: readonly string[]): BulkheadError {
  const named = namedPaths(paths, { many: "," });
  return new BulkheadError("not_found", `Cannot take the files back: the content of ${named} is no longer kept.`, {
    hint: "Nothing was changed. It was too large to keep, or git has removed it.",
    details: { reason: "objects_gone", paths: paths.slice(0, 1000) },
  });
}
