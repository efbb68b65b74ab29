import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { HeldDecision, SessionHeld, SettledHeld } from "../../../plugin-sdk/held.ts";
import type {
  AppliedWorkspace,
  PruneReport,
  Workspace,
  WorkspaceState,
  WorktreeDiff,
} from "../../../plugin-sdk/workspace.ts";
import { applyWorktree, undoApply } from "../git/apply-worktree.ts";
import { omittedCount } from "../git/artifacts.ts";
import { withDeadline } from "../git/deadline.ts";
import { addWorktree, keepCommits, removeWorktree } from "../git/linked-worktree.ts";
import type { WorktreeBase } from "../git/worktree-start.ts";
import { patchWorktree } from "../git/patch-worktree.ts";
import { worktreeDiff } from "../git/worktree-diff.ts";
import { mkdir } from "../../ground/runtime/files.ts";
import { join, relative } from "../../ground/runtime/paths.ts";
import { HeldFiles, type HeldRecord } from "./held-files.ts";
import { isAlive } from "./holder.ts";
import {
  type OpenedWorkspace,
  openWorkspace,
  type OpenWorkspaceOptions,
  removeAll,
  removeFiles,
  workspaceTimeoutMs,
} from "./open-workspace.ts";
import { noteConflict } from "./note-conflict.ts";
import { settleInPlace, shownInPlace } from "./settle-held.ts";
import { pruneWorkspaces } from "./prune-workspaces.ts";
import { openWorkspaceFiles, type WorkspaceFiles } from "./workspace-files.ts";
import type { WorkspaceRecord } from "./workspace-record.ts";

/** Options of {@link Workspaces.applyPatch}. */
export interface ApplyPatchOptions {
  /** Real absolute path of a folder in the repository. */
  workdir: string;
  patch: Uint8Array;
  allowLinks?: boolean | undefined;
  /** Real absolute paths that are not copied. */
  exclude?: readonly string[];
}

/** The durable worktrees of one state folder's sessions. */
export interface Workspaces {
  /** Makes the worktree of a session; see {@link openWorkspace}. */
  open(options: OpenWorkspaceOptions): Promise<OpenedWorkspace>;
  /** Resets a running session's worktree to its base, for another attempt. Removes ignored files as well. */
  reset(sessionId: string): Promise<void>;
  /** Records that the session has ended: its changes now wait for a decision. */
  end(sessionId: string): Promise<void>;
  list(): Promise<Workspace[]>;
  /** @throws {BulkheadError} `not_found`, `already_exists` when it is applied or discarded, `too_large` */
  diff(sessionId: string): Promise<WorktreeDiff>;
  /**
   * Applies the changes to the source, all or none, and removes the worktree.
   * @throws {BulkheadError} `not_found`, `busy` while the session runs, `conflict` (also for links that lead out of the
   * repository, unless they are allowed), `already_exists`
   */
  apply(sessionId: string, options?: { allowLinks?: boolean }): Promise<AppliedWorkspace>;
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

/** Opens the workspaces in a folder; makes no folder before the first workspace. */
export function openWorkspaces(folder: string): Workspaces {
  const files = openWorkspaceFiles(folder);
  const held = new HeldFiles(join(folder, heldFolder));
  return {
    keepHeld: (record) => held.write(record),
    held: async () => (await held.list()).map(shownInPlace),
    settleHeld: (sessionId, decision) => files.alone(sessionId, () => settleInPlace(held, { sessionId, decision })),
    open: (options) => openWorkspace(files, options),
    reset: async (sessionId) => await resetWorkspace(await files.read(sessionId)),
    end: (sessionId) => endWorkspace(files, sessionId),
    list: async () => (await files.list()).map(shown),
    diff: async (sessionId) => await diffOf(await files.read(sessionId)),
    apply: (sessionId, options = {}) =>
      files.alone(
        sessionId,
        () =>
          noteConflict(
            { files, sessionId },
            async () => await applyWorkspace(files, await settled(files, sessionId), options),
          ),
      ),
    applyPatch: (sessionId, options) => files.alone(sessionId, () => applyPatch(files, sessionId, options)),
    discard: (sessionId) =>
      files.alone(sessionId, async () => await discardWorkspace(files, await settled(files, sessionId))),
    prune: (options) => pruneWorkspaces(files, options),
  };
}

async function resetWorkspace(record: WorkspaceRecord): Promise<void> {
  refuseUnless(record, ["open"]);
  const { folder, repository: sourceTop, workdir } = record;
  await within(async (signal) => {
    await removeWorktree({ folder, sourceTop, signal });
    await addWorktree(baseOf(record), { folder, sourceTop, signal });
    await mkdir(join(folder, relative(sourceTop, workdir)), { recursive: true });
  });
}

async function endWorkspace(files: WorkspaceFiles, sessionId: string): Promise<void> {
  const record = await files.read(sessionId);
  await files.write({ ...record, holder: null, ended_at: record.ended_at ?? new Date().toISOString() });
}

async function diffOf(record: WorkspaceRecord): Promise<WorktreeDiff> {
  refuseUnless(record, ["open", "applying"]);
  return await within((signal) => worktreeDiff(baseOf(record), { folder: record.folder, signal }));
}

async function applyWorkspace(
  files: WorkspaceFiles,
  record: WorkspaceRecord,
  { allowLinks }: { allowLinks?: boolean | undefined },
): Promise<AppliedWorkspace> {
  refuseUnless(record, ["open"]);
  const { session_id, folder, repository: sourceTop, base_commit: baseCommit } = record;
  const keep = () =>
    within((signal) => keepCommits(`refs/bulkhead/${session_id}`, { folder, sourceTop, baseCommit, signal }));
  let kept_commit: string | null | undefined;
  const { artifacts, others } = await within((signal) =>
    applyWorktree(baseOf(record), {
      folder,
      sourceTop,
      signal,
      allowLinks,
      async onWrite(unfinished) {
        // First: this fails when the agent has left refs that conflict with ours.
        kept_commit = await keep();
        await files.write({ ...record, state: "applying", unfinished });
      },
    })
  ).catch(async (error: unknown) => {
    // The source was restored, or else the record still says how to restore it.
    if (!isHalfWritten(error)) await files.write(record);
    throw error;
  });
  kept_commit = kept_commit === undefined ? await keep() : kept_commit;
  const applied: WorkspaceRecord = { ...record, state: "applied", kept_commit, conflict: null };
  await files.write(applied);
  await removeFiles(files, applied);
  return { session_id, artifacts, ...omittedCount(others), kept_commit };
}

/** Makes a worktree for the changes, so that they come the way of all others. */
async function applyPatch(
  files: WorkspaceFiles,
  sessionId: string,
  { patch, allowLinks, ...place }: ApplyPatchOptions,
): Promise<AppliedWorkspace> {
  await openWorkspace(files, { sessionId, ...place });
  const record = await files.read(sessionId);
  const { folder, repository: sourceTop } = record;
  try {
    await within((signal) => patchWorktree(baseOf(record), { folder, patch, sourceTop, signal }));
    return await applyWorkspace(files, { ...record, holder: null, ended_at: new Date().toISOString() }, { allowLinks });
  } catch (error) {
    // Its machine may come back, and then the changes are applied from there.
    if (!isHalfWritten(error)) await removeAll(files, record).catch(() => undefined);
    throw error;
  }
}

async function discardWorkspace(files: WorkspaceFiles, record: WorkspaceRecord): Promise<void> {
  refuseUnless(record, ["opening", "open", "discarded"]);
  const discarded: WorkspaceRecord = { ...record, state: "discarded", conflict: null };
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

function shown({ store: _, unfinished: __, holder, conflict = null, ...rest }: WorkspaceRecord): Workspace {
  return { ...rest, conflict, running: isAlive(holder) };
}

function isHalfWritten(error: unknown): boolean {
  return error instanceof BulkheadError && error.details?.["half_written"] === true;
}

/** Refuses an action on a workspace in another state. */
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
