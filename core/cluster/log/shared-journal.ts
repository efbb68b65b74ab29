import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import type { Cursor, Journal, JournalBatch, ReadOptions } from "../../records/journal/journal.ts";
import type { KeyRecord } from "../../records/journal/key-table.ts";
import type { DeletedBy, SessionFilter } from "../../records/journal/session-record.ts";
import type { Engine } from "../engine/engine.ts";
import { batchEntry } from "./held-entries.ts";
import type { MachineLog } from "./machine-log.ts";
import type { PositionFile } from "./position-file.ts";

/** Collaborators of {@link SharedJournal}. */
interface SharedJournalDeps {
  engine: Engine;
  machine: string;
  /** The local copy; the shared journal closes it. */
  own: Journal;
  log: MachineLog;
  position: PositionFile;
}

/**
 * A machine's journal in a cluster: what is appended goes to the machine's log first, and into the local copy once the
 * servers have it. Everything is read from the local copy.
 */
export class SharedJournal implements Journal {
  readonly #deps: SharedJournalDeps;

  constructor(deps: SharedJournalDeps) {
    this.#deps = deps;
  }

  get lastGseq(): number {
    return this.#deps.own.lastGseq;
  }

  get waitsForDisk(): boolean {
    return this.#deps.own.waitsForDisk;
  }

  async append(batch: JournalBatch): Promise<number> {
    const { own, log, position } = this.#deps;
    const entry = batchEntry(batch.session_id, batch.envelopes, batch.texts);
    if (entry === null) return 0;
    await log.append(entry);
    try {
      const bytes = await own.append(batch);
      position.note(log.position);
      return bytes;
    } catch (error) {
      // The log has events that the copy lacks: only a start that reads the log can mend that.
      log.break(brokenError(error));
      throw error;
    }
  }

  async delete(sessionId: string, by: DeletedBy, terms: { leftOpen?: boolean } = {}): Promise<boolean> {
    const { engine, machine, own, log } = this.#deps;
    const record = await own.session(sessionId);
    if (record === null || record.deleted !== null || (record.state === "running" && terms.leftOpen !== true)) {
      return false;
    }
    await log.append({ kind: "delete", session_id: sessionId, by });
    const isDeleted = await own.delete(sessionId, by, terms);
    const { names } = engine;
    // What stays there is dropped by readers: the entry that deletes it comes later.
    await engine.purge(names.log(machine), names.session(machine, sessionId)).catch(() => {});
    return isDeleted;
  }

  read(options: ReadOptions): ReturnType<Journal["read"]> {
    return this.#deps.own.read(options);
  }

  openSessions(): Promise<string[]> {
    return this.#deps.own.openSessions();
  }

  sessions(filter: SessionFilter): ReturnType<Journal["sessions"]> {
    return this.#deps.own.sessions(filter);
  }

  session(sessionId: string): ReturnType<Journal["session"]> {
    return this.#deps.own.session(sessionId);
  }

  history(sessionId: string): ReturnType<Journal["history"]> {
    return this.#deps.own.history(sessionId);
  }

  leftChildren(): ReturnType<Journal["leftChildren"]> {
    return this.#deps.own.leftChildren();
  }

  cursorOf(sessionId: string, seq: number): Promise<Cursor | null> {
    return this.#deps.own.cursorOf(sessionId, seq);
  }

  findKey(name: string): Promise<KeyRecord | null> {
    return this.#deps.own.findKey(name);
  }

  noteKey(record: KeyRecord, most: number): Promise<void> {
    return this.#deps.own.noteKey(record, most);
  }

  oldestEnded(): ReturnType<Journal["oldestEnded"]> {
    return this.#deps.own.oldestEnded();
  }

  bytesOf(sessionId: string): Promise<number> {
    return this.#deps.own.bytesOf(sessionId);
  }

  usedBytes(): Promise<number> {
    return this.#deps.own.usedBytes();
  }

  sweep(): Promise<void> {
    return this.#deps.own.sweep();
  }

  async close(): Promise<void> {
    this.#deps.log.close();
    await this.#deps.own.close();
    await this.#deps.position.close();
  }
}

function brokenError(cause: unknown): BulkheadError {
  const { message } = toErrorData(cause);
  return new BulkheadError("journal_error", `The local copy of this machine's log cannot be written: ${message}`, {
    cause,
  });
}
