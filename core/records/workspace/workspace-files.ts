import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { readRecord } from "../../ground/checks/read-record.ts";
import { absent } from "../../ground/errors/write-fault.ts";
import { mkdir, readdir, rm } from "../../ground/platform/files/files.ts";
import { takeLock } from "../../ground/platform/state/lock-file.ts";
import { holderText } from "../../ground/platform/state/lock-holder.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { replaceFile } from "../../ground/platform/files/replace-file.ts";
import { type Holder, type WorkspaceRecord, workspaceRecordSchema } from "./workspace-record.ts";

/** The records of all workspaces, a file each, in a folder that the hosts of one state folder share. */
export class WorkspaceFiles {
  /** The folder, which also holds one folder for each workspace. */
  readonly folder: string;
  /** This process, as records name it. */
  readonly holder: Holder;
  /** Sessions with whose workspace this process is doing something alone. */
  readonly #under = new Set<string>();

  constructor(folder: string, holder: Holder) {
    this.folder = folder;
    this.holder = holder;
  }

  /** @throws {BulkheadError} `not_found` */
  async read(sessionId: string): Promise<WorkspaceRecord> {
    const record = await readRecord(this.#fileOf(sessionId), workspaceRecordSchema);
    if (record === null || record.session_id !== sessionId) throw unknown(sessionId);
    return record;
  }

  /** Whether a session has a worktree of its own. */
  async has(sessionId: string): Promise<boolean> {
    return await readRecord(this.#fileOf(sessionId), workspaceRecordSchema) !== null;
  }

  /** Returns the id under which a session's worktree is kept: its own, or that of an earlier session in whose one it went on. */
  async idOf(sessionId: string): Promise<string> {
    if (await this.has(sessionId)) return sessionId;
    const goesOn = (await this.list()).find(({ later_sessions = [] }) => later_sessions.includes(sessionId));
    return goesOn?.session_id ?? sessionId;
  }

  async write(record: WorkspaceRecord): Promise<void> {
    await this.#makeFolder();
    await replaceFile(this.#fileOf(record.session_id), JSON.stringify(record));
  }

  async remove(sessionId: string): Promise<void> {
    await rm(this.#fileOf(sessionId), { force: true });
  }

  /** All records, the oldest first. A file that cannot be read is left out. */
  async list(): Promise<WorkspaceRecord[]> {
    const names = await readdir(this.folder).catch(absent) ?? [];
    const ids = names.filter((name) => name.endsWith(".json")).map((name) => name.slice(0, -".json".length));
    const records = await Promise.all(ids.filter(isId).map((id) => this.read(id).catch(absent)));
    return records.filter((record) => record !== null).sort((a, b) => a.created_at < b.created_at ? -1 : 1);
  }

  /**
   * Does something that no other process does with this workspace at the same time.
   * @throws {BulkheadError} `busy`
   */
  async alone<T>(sessionId: string, act: () => Promise<T>): Promise<T> {
    const lock = join(this.folder, `${checkedId(sessionId)}.lock`);
    if (this.#under.has(sessionId)) throw busy(sessionId, "this process");
    this.#under.add(sessionId);
    try {
      await this.#makeFolder();
      const taken = await takeLock(lock, { unrecorded: true });
      if (!("release" in taken)) throw busy(sessionId, holderText(taken.holder));
      try {
        return await act();
      } finally {
        await taken.release();
      }
    } finally {
      this.#under.delete(sessionId);
    }
  }

  #fileOf(sessionId: string): string {
    return join(this.folder, `${checkedId(sessionId)}.json`);
  }

  async #makeFolder(): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
  }
}

function checkedId(sessionId: string): string {
  if (!isId(sessionId)) throw unknown(sessionId);
  return sessionId;
}

/** Ids become names of files and of a ref. */
function isId(sessionId: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(sessionId);
}

function unknown(sessionId: string): BulkheadError {
  return new BulkheadError("not_found", `No session "${sessionId}" has a workspace.`, {
    hint: '"bulkhead session list" shows those that have.',
  });
}

function busy(sessionId: string, who: string): BulkheadError {
  return new BulkheadError("busy", `Cannot use the workspace of session "${sessionId}": ${who} is using it.`, {
    hint: "Try again in a moment.",
  });
}
