import { type ObjectStore, Objm } from "@nats-io/obj";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { workedIn, type Workspace, type WorktreeDiff } from "../../../plugin-sdk/workspace.ts";
import { lazyCheck, parseChecked } from "../../ground/checks/lazy-check.ts";
import { joinBytes } from "../../ground/platform/files/join-bytes.ts";
import { workspaceSchema } from "../../records/workspace/workspace-record.ts";
import type { SessionHost } from "../../sessions/host/session-host.ts";
import type { HostWorkspaces } from "../../sessions/host/state/workspaces.ts";
import type { Engine } from "../engine/engine.ts";
import { parseDiffHead } from "./answer-schemas.ts";

/** Bytes of the largest patch that is kept. */
const mostBytes = 64 * 1024 * 1024;
/** Bytes of the list of changes before it, at most. */
const mostHeadBytes = 16 * 1024 * 1024;
/** Worktrees of a list; the newest stay. */
const mostListed = 1000;

/** Diffs of worktrees in the servers' object store: every machine can show them, also without their machine. */
export class SharedDiffs {
  readonly #engine: Engine;
  readonly #workspaces: () => Pick<HostWorkspaces, "diff" | "list"> | null;
  #store: Promise<ObjectStore> | null = null;

  constructor(engine: Engine, workspaces: () => Pick<HostWorkspaces, "diff" | "list"> | null) {
    this.#engine = engine;
    this.#workspaces = workspaces;
  }

  /**
   * Keeps the present diff of a session of this machine.
   * @throws {BulkheadError} as `Workspaces.diff`
   */
  async keep(sessionId: string): Promise<void> {
    const workspaces = this.#workspaces();
    if (workspaces === null) throw missing(sessionId);
    const { patch, ...list } = await workspaces.diff(sessionId);
    if (patch.byteLength > mostBytes) throw largeError(sessionId, patch.byteLength);
    const workspace = (await workspaces.list()).find((one) => workedIn(one, sessionId));
    const metadata = { workspace: JSON.stringify(workspace) };
    const head = new TextEncoder().encode(`${JSON.stringify(list)}\n`);
    await (await this.#opened()).putBlob(
      { name: workspace?.session_id ?? sessionId, metadata },
      joinBytes([head, patch]),
    );
  }

  /** Keeps the diffs of a host's worktrees whose sessions end, for when this machine is gone. */
  async follow(host: Pick<SessionHost, "events">, signal: AbortSignal): Promise<void> {
    for await (const { session_id, event } of host.events({ signal })) {
      if (event.type !== "session_ended" || event.result.artifacts?.length === 0) continue;
      // A session that worked in place has none.
      await this.keep(session_id).catch(() => undefined);
    }
  }

  /**
   * Returns the diff that was kept last.
   * @throws {BulkheadError} `not_found`, `too_large`, `unsupported`
   */
  async read(sessionId: string): Promise<WorktreeDiff> {
    const store = await this.#opened();
    const name = await this.#nameOf(sessionId);
    const size = (await store.info(name))?.size ?? 0;
    if (size > mostBytes + mostHeadBytes) throw largeError(sessionId, size);
    const blob = await store.getBlob(name);
    const end = blob?.indexOf(10) ?? -1;
    if (blob === null || end === -1) throw missing(sessionId);
    const head = parseDiffHead(new TextDecoder().decode(blob.subarray(0, end)));
    if (head === null) {
      throw new BulkheadError("unsupported", `Cannot read the kept diff of session "${sessionId}".`, {
        hint: "The machine that kept it has another version: bring all machines to one.",
        details: { session_id: sessionId },
      });
    }
    return { patch: blob.subarray(end + 1), ...head };
  }

  /** Returns the worktrees whose diffs are kept, as they were when a machine kept them. */
  async worktrees(): Promise<Workspace[]> {
    const kept = await (await this.#opened()).list();
    return kept.slice(-mostListed).flatMap(({ metadata }) => parseChecked(metadata?.["workspace"] ?? "", check) ?? []);
  }

  /** Removes the diff of a worktree that is gone. Never rejects: at worst, a useless diff stays. */
  async forget(sessionId: string): Promise<void> {
    await this.#opened().then(async (store) => store.delete(await this.#nameOf(sessionId))).catch(() => undefined);
  }

  /** Returns the name under which the diff of a session's worktree is kept. */
  async #nameOf(sessionId: string): Promise<string> {
    return (await this.worktrees()).find((one) => workedIn(one, sessionId))?.session_id ?? sessionId;
  }

  #opened(): Promise<ObjectStore> {
    const { client, names, replicas } = this.#engine;
    return this.#store ??= new Objm(client).create(names.patches, { replicas }).catch((error: unknown) => {
      this.#store = null;
      throw error;
    });
  }
}

const check = lazyCheck(workspaceSchema);

function largeError(sessionId: string, bytes: number): BulkheadError {
  return new BulkheadError("too_large", `Cannot share the diff of session "${sessionId}": it has ${bytes} bytes.`, {
    hint: `At most ${mostBytes} are shared. Read it on the machine that has the worktree.`,
    details: { session_id: sessionId, bytes },
  });
}

function missing(sessionId: string): BulkheadError {
  return new BulkheadError("not_found", `There is no diff of session "${sessionId}" in the cluster.`, {
    hint: "Only sessions with workspace: worktree have one.",
    details: { session_id: sessionId },
  });
}
