import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { HeldChange, HeldDecision, SessionHeld, SettledHeld } from "../../../plugin-sdk/held.ts";
import type {
  AppliedWorkspace,
  PruneReport,
  Workspace,
  WorkspaceState,
  WorktreeDiff,
} from "../../../plugin-sdk/workspace.ts";
import { applyWorktree, patchWorktree, undoApply } from "../git/apply-worktree.ts";
import { omittedCount } from "../git/artifacts.ts";
import { type DiffChoice, dropInWorktree, heldInWorktree, worktreeDiff } from "../git/worktree-diff.ts";
import { isAmong } from "../git/held-in-tree.ts";
import { withDeadline } from "../git/deadline.ts";
import { keepCommits } from "../git/linked-worktree.ts";
import type { LookStart } from "../gate/known-entries.ts";
import type { WorktreeBase } from "../git/worktree-start.ts";
import { mkdir, realpath } from "../../ground/platform/files/files.ts";
import { isInside, join, relative } from "../../ground/platform/files/paths.ts";
import {
  type OpenedWorkspace,
  openWorkspace,
  type OpenWorkspaceOptions,
  remakeWorktree,
  removeAll,
  removeFiles,
  takeUnchanged,
  workspaceTimeoutMs,
} from "./open-workspace.ts";
import { explainMissing, noteConflict } from "./explain-missing.ts";
import { HeldFiles, type HeldRecord } from "./held-files.ts";
import { isAlive, thisProcess } from "./holder.ts";
import { chosenOf, lookAtLeft, settleInPlace, shownInPlace } from "./settle-held.ts";
import { pruneWorkspaces } from "./prune-workspaces.ts";
import { WorkspaceFiles } from "./workspace-files.ts";
import type { WorkspaceRecord } from "./workspace-record.ts";

/** Choice of what an apply takes beside what runs nothing. */
export interface ApplyChoice {
  /** Links that lead out of the repository as well. */
  allowLinks?: boolean | undefined;
  /** Held changes of these paths as well. */
  withHeld?: readonly string[] | undefined;
}

/** Options of {@link Workspaces.applyPatch}. */
export interface ApplyPatchOptions extends ApplyChoice {
  /** Real absolute path of a folder in the repository. */
  workdir: string;
  patch: Uint8Array;
  /** Real absolute paths that are not copied. */
  exclude?: readonly string[];
}

/** The durable worktrees of one state folder's sessions. */
export interface Workspaces {
  /** Makes the worktree of a session; see {@link openWorkspace}. */
  open(options: OpenWorkspaceOptions): Promise<OpenedWorkspace>;
  /**
   * Has a session go on in the worktree of the one that it follows; null where that has none, or its changes were applied
   * or discarded.
   * @param options.workdir real absolute path of the requested working directory
   * @throws {BulkheadError} `busy` while a session works in it, `workdir_missing`
   */
  goOn(options: { follows: string; sessionId: string; workdir: string }): Promise<OpenedWorkspace | null>;
  /** Resets a running session's worktree to its base, for another attempt. Removes ignored files as well. */
  reset(sessionId: string): Promise<void>;
  /** Records that the session has ended: its changes now wait for a decision. */
  end(sessionId: string): Promise<void>;
  list(): Promise<Workspace[]>;
  /** @throws {BulkheadError} `not_found`, `already_exists` when it is applied or discarded, `too_large` */
  diff(sessionId: string, choice?: DiffChoice): Promise<WorktreeDiff>;
  /**
   * Applies the changes to the source, all or none, and removes the worktree. Changes that can run programs are held:
   * they stay in the worktree, which waits for a person's word then.
   * @throws {BulkheadError} `not_found`, `busy` while the session runs, `conflict`, `already_exists`
   */
  apply(sessionId: string, options?: ApplyChoice): Promise<AppliedWorkspace>;
  /**
   * Applies changes that were made elsewhere, by the same rules: all or none, merged with what the repository has now.
   * @throws {BulkheadError} as `apply`, and as {@link openWorkspace}
   */
  applyPatch(sessionId: string, options: ApplyPatchOptions): Promise<AppliedWorkspace>;
  /**
   * Removes the worktree with all its changes.
   * @throws {BulkheadError} `not_found`, `busy` while the session runs, `conflict`
   */
  discard(sessionId: string): Promise<void>;
  /**
   * Removes the worktree of a session that has ended, if nothing in it has changed up to this moment. One that began with the
   * files of a turn stays: none like it can be made again.
   * @throws {BulkheadError} as `discard`
   */
  discardUnchanged(sessionId: string): Promise<void>;
  /** Finds what an apply of a session's worktree will hold, and notes it. */
  noteHeld(sessionId: string): Promise<HeldChange[]>;
  /** Notes that a session works in a folder in place, until {@link keepHeld} says what it left. */
  watchHeld(watched: { session_id: string; folder: string; start: LookStart }): Promise<void>;
  /**
   * Looks at the folders of sessions in place whose host was killed. Never throws.
   * @param skip real absolute paths of the host's own
   */
  lookAtLeft(skip: readonly string[]): Promise<void>;
  /** Keeps what a session in place left until a person applies or drops it. */
  keepHeld(held: HeldRecord): Promise<void>;
  /** Lists the changes of sessions that wait for a person's word, the oldest first. */
  held(): Promise<SessionHeld[]>;
  /**
   * Settles held changes.
   * @throws {BulkheadError} `not_found`, `busy`, `conflict` for a drop of what has changed since
   */
  settleHeld(sessionId: string, decision: HeldDecision): Promise<SettledHeld>;
  /** Removes worktrees older than an age, never that of a running session. */
  prune(options: { olderThanMs: number; now?: number }): Promise<PruneReport>;
}

/** Folder of what sessions in place left, beside the worktrees. */
const heldFolder = "held";

/**
 * Opens the workspaces in a folder; makes no folder before the first workspace.
 * @param options.lock that this process holds as long as it uses them
 */
export function openWorkspaces(folder: string, { lock = null }: { lock?: string | null } = {}): Workspaces {
  const files = new WorkspaceFiles(folder, thisProcess(lock));
  const held = new HeldFiles(join(folder, heldFolder), files.holder);
  /** Does something alone with the worktree that a session worked in. */
  const alone = async <T>(
    sessionId: string,
    act: (record: () => Promise<WorkspaceRecord>, id: string) => Promise<T>,
  ) => {
    const id = await files.idOf(sessionId);
    return await files.alone(id, () => act(() => settled(files, id), id));
  };
  const read = async (sessionId: string) => await files.read(await files.idOf(sessionId));
  return {
    noteHeld: (sessionId) => alone(sessionId, async () => await noteHeld(files, await read(sessionId))),
    watchHeld: (watched) => held.watch(watched),
    lookAtLeft: (skip) => lookAtLeft(files, { held, skip }),
    keepHeld: (record) => held.write(record),
    held: async () => [
      ...(await held.list()).filter(({ watch }) => !isAlive(watch?.holder ?? null)).map(shownInPlace),
      ...(await files.list()).flatMap(shownInWorktree),
    ],
    settleHeld: (sessionId, decision) =>
      alone(sessionId, async (settledRecord) => {
        const record = await read(sessionId).catch(() => null);
        return (record?.held ?? []).length > 0
          ? await settleInWorktree(files, { record: await settledRecord(), decision })
          : await settleInPlace(held, { sessionId, decision });
      }),
    open: (options) => openWorkspace(files, options),
    goOn: ({ follows, ...options }) =>
      alone(follows, async (record, id) => await files.has(id) ? await goOnIn(files, await record(), options) : null),
    reset: async (sessionId) => await resetWorkspace(await read(sessionId)),
    end: async (sessionId) => await endWorkspace(files, await read(sessionId)),
    list: async () => (await files.list()).map(shown),
    diff: async (sessionId, choice = {}) => await diffOf(await read(sessionId), choice),
    apply: (sessionId, options = {}) =>
      alone(sessionId, (record, id) =>
        noteConflict(
          { files, sessionId: id },
          async () => await applyWorkspace(files, await record(), options),
        )),
    applyPatch: (sessionId, options) => files.alone(sessionId, () => applyPatch(files, sessionId, options)),
    discard: (sessionId) => alone(sessionId, async (record) => await discardWorkspace(files, await record())),
    discardUnchanged: (sessionId) =>
      alone(sessionId, async (settledRecord) => {
        const record = await settledRecord();
        if (record.of_turn !== true && await takeUnchanged(record)) await discardWorkspace(files, record);
      }),
    prune: (options) => pruneWorkspaces(files, options),
  };
}

async function resetWorkspace(record: WorkspaceRecord): Promise<void> {
  refuseUnless(record, ["open"]);
  await within((signal) => remakeWorktree(record, baseOf(record), signal));
}

async function noteHeld(files: WorkspaceFiles, record: WorkspaceRecord): Promise<HeldChange[]> {
  const held = await within((signal) => heldInWorktree(baseOf(record), { folder: record.folder, signal }));
  if (held.length > 0) await files.write({ ...record, held });
  return held;
}

async function endWorkspace(files: WorkspaceFiles, record: WorkspaceRecord): Promise<void> {
  if (record.holder !== null) await files.write({ ...record, holder: null, ended_at: new Date().toISOString() });
}

/** Has a session go on in the worktree of an earlier one; null where that waits for no decision any more. */
async function goOnIn(
  files: WorkspaceFiles,
  record: WorkspaceRecord,
  { sessionId, workdir }: { sessionId: string; workdir: string },
): Promise<OpenedWorkspace | null> {
  const { state, folder, repository, base_commit, base_tree, later_sessions = [] } = record;
  if (state !== "open" || !isInside(repository, workdir)) return null;
  const inside = join(folder, relative(repository, workdir));
  await explainMissing(record, async () => void await realpath(folder));
  await mkdir(inside, { recursive: true });
  await files.write({
    ...record,
    later_sessions: [...later_sessions, sessionId],
    holder: files.holder,
    // Its age counts from now.
    ended_at: new Date().toISOString(),
  });
  return { workdir: inside, folder, base_commit, base_tree };
}

async function diffOf(record: WorkspaceRecord, choice: DiffChoice): Promise<WorktreeDiff> {
  refuseUnless(record, ["open", "applying"]);
  const { folder, repository: sourceTop } = record;
  const diff = (signal: AbortSignal) => worktreeDiff(baseOf(record), { ...choice, folder, sourceTop, signal });
  return await explainMissing(record, () => within(diff));
}

async function applyWorkspace(
  files: WorkspaceFiles,
  record: WorkspaceRecord,
  { allowLinks = false, withHeld = [] }: ApplyChoice,
): Promise<AppliedWorkspace> {
  refuseUnless(record, ["open"]);
  const { session_id, folder, repository: sourceTop, base_commit: baseCommit } = record;
  const keep = () =>
    within((signal) => keepCommits(`refs/bulkhead/${session_id}`, { folder, sourceTop, baseCommit, signal }));
  let kept_commit: string | null | undefined;
  const applying = (signal: AbortSignal) =>
    applyWorktree(baseOf(record), {
      folder,
      sourceTop,
      signal,
      takes: (one) => (allowLinks && one.change.kind === "link_out") || isAmong(one, withHeld),
      async onWrite(unfinished) {
        // First: this fails when the agent has left refs that conflict with ours.
        kept_commit = await keep();
        await files.write({ ...record, state: "applying", unfinished });
      },
    });
  const applied = explainMissing(record, () => within(applying));
  const { artifacts, others, held, base } = await applied.catch(async (error: unknown) => {
    // The source was restored, or else the record still says how to restore it.
    if (!isHalfWritten(error)) await files.write(record);
    throw error;
  });
  kept_commit = kept_commit === undefined ? await keep() : kept_commit;
  const report = { session_id, artifacts, ...omittedCount(others), held, kept_commit };
  if (held.length > 0) {
    // What was applied is part of the base from now on.
    await files.write({ ...record, base_tree: base, kept_commit, conflict: null, held });
    return report;
  }
  await finish(files, { ...record, kept_commit });
  return report;
}

/** Ends a workspace of which all is applied or dropped. */
async function finish(files: WorkspaceFiles, record: WorkspaceRecord): Promise<void> {
  const applied: WorkspaceRecord = { ...record, state: "applied", conflict: null, held: [] };
  await files.write(applied);
  await removeFiles(files, applied);
}

/** Settles held changes that an apply left in a worktree. */
async function settleInWorktree(
  files: WorkspaceFiles,
  { record, decision }: { record: WorkspaceRecord; decision: HeldDecision },
): Promise<SettledHeld> {
  const { session_id, folder, held = [] } = record;
  const chosen = chosenOf(held, decision.paths).map(({ path }) => path);
  if (decision.action === "apply") {
    const applied = await applyWorkspace(files, record, { withHeld: chosen });
    return { session_id, settled: chosen, held: applied.held };
  }
  refuseUnless(record, ["open"]);
  const isDone = await within((signal) =>
    dropInWorktree(baseOf(record), { folder, signal, drops: (one) => isAmong(one, chosen) })
  );
  const left = held.filter(({ path }) => !chosen.includes(path));
  await (isDone ? finish(files, record) : files.write({ ...record, held: left }));
  return { session_id, settled: chosen, held: left };
}

function shownInWorktree(
  { session_id, folder, ended_at, created_at, held = [], holder }: WorkspaceRecord,
): SessionHeld[] {
  return held.length === 0 || isAlive(holder)
    ? []
    : [{ session_id, place: "worktree", folder, at: ended_at ?? created_at, held }];
}

/** Makes a worktree for the changes, so that they come the way of all others. */
async function applyPatch(
  files: WorkspaceFiles,
  sessionId: string,
  { patch, allowLinks, withHeld, ...place }: ApplyPatchOptions,
): Promise<AppliedWorkspace> {
  await openWorkspace(files, { sessionId, ...place });
  const record = await files.read(sessionId);
  const { folder, repository: sourceTop } = record;
  try {
    await within((signal) => patchWorktree(baseOf(record), { folder, patch, sourceTop, signal }));
    const ended = { ...record, holder: null, ended_at: new Date().toISOString() };
    return await applyWorkspace(files, ended, { allowLinks, withHeld });
  } catch (error) {
    // Its machine may come back, and then the changes are applied from there.
    if (!isHalfWritten(error)) await removeAll(files, record).catch(() => undefined);
    throw error;
  }
}

async function discardWorkspace(files: WorkspaceFiles, record: WorkspaceRecord): Promise<void> {
  refuseUnless(record, ["opening", "open", "discarded"]);
  const discarded: WorkspaceRecord = { ...record, state: "discarded", conflict: null, held: [] };
  await files.write(discarded);
  await removeFiles(files, discarded);
}

/** The record of a session that has ended; undoes an interrupted apply. */
async function settled(files: WorkspaceFiles, sessionId: string): Promise<WorkspaceRecord> {
  const record = await files.read(sessionId);
  if (isAlive(record.holder)) throw stillRunning(sessionId);
  const { unfinished } = record;
  if (unfinished === null) return record;
  await within((signal) => undoApply(baseOf(record), { sourceTop: record.repository, signal, unfinished }));
  const undone: WorkspaceRecord = { ...record, state: "open", unfinished: null };
  await files.write(undone);
  return undone;
}

function within<T>(act: (signal: AbortSignal) => Promise<T>): Promise<T> {
  return withDeadline({ timeoutMs: workspaceTimeoutMs }, act);
}

function baseOf({ store, base_commit, base_tree }: WorkspaceRecord): WorktreeBase {
  return { store, commit: base_commit, tree: base_tree };
}

function shown(
  { store: _, unfinished: __, of_turn: ___, holder, conflict = null, held = [], ...rest }: WorkspaceRecord,
): Workspace {
  return { ...rest, conflict, held, running: isAlive(holder) };
}

function isHalfWritten(error: unknown): boolean {
  return error instanceof BulkheadError && error.details?.["half_written"] === true;
}

function refuseUnless({ session_id, state }: WorkspaceRecord, states: readonly WorkspaceState[]): void {
  if (states.includes(state)) return;
  const gone = state === "applied" || state === "discarded";
  const message = gone
    ? `The changes of session "${session_id}" were ${state} already.`
    : `The workspace of session "${session_id}" is not ready: it is ${state}.`;
  throw new BulkheadError(gone ? "already_exists" : "busy", message, { details: { state } });
}

function stillRunning(sessionId: string): BulkheadError {
  return new BulkheadError("busy", `Session "${sessionId}" still runs.`, {
    hint: "Wait for its end, or interrupt it.",
  });
}
