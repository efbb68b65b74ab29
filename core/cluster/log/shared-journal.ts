import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import type { Journal, JournalBatch } from "../../records/journal/journal.ts";
import type { DeletedBy } from "../../records/journal/session-record.ts";
import type { Engine } from "../engine/engine.ts";
import { batchEntry } from "./held-entries.ts";
import type { MachineLog } from "./machine-log.ts";
import type { PositionFile } from "./position-file.ts";

interface SharedJournalDeps {
  engine: Engine;
  machine: string;
  /** The local copy; the shared journal closes it. */
  own: Journal;
  log: MachineLog;
  position: PositionFile;
}

/** A machine's journal in a cluster: appends reach the machine's log before the local copy, which serves reads. */
export class SharedJournal implements Journal {
  readonly #deps: SharedJournalDeps;

  readonly read: Journal["read"] = (options) => this.#deps.own.read(options);
  readonly openSessions: Journal["openSessions"] = () => this.#deps.own.openSessions();
  readonly sessions: Journal["sessions"] = (filter) => this.#deps.own.sessions(filter);
  readonly groups: Journal["groups"] = (span, before) => this.#deps.own.groups(span, before);
  readonly session: Journal["session"] = (sessionId) => this.#deps.own.session(sessionId);
  readonly history: Journal["history"] = (sessionId) => this.#deps.own.history(sessionId);
  readonly spent: Journal["spent"] = (page) => this.#deps.own.spent(page);
  readonly leftChildren: Journal["leftChildren"] = () => this.#deps.own.leftChildren();
  readonly cursorOf: Journal["cursorOf"] = (sessionId, seq) => this.#deps.own.cursorOf(sessionId, seq);
  readonly findKey: Journal["findKey"] = (name) => this.#deps.own.findKey(name);
  readonly noteKey: Journal["noteKey"] = (record, most) => this.#deps.own.noteKey(record, most);
  readonly oldestEnded: Journal["oldestEnded"] = () => this.#deps.own.oldestEnded();
  readonly bytesOf: Journal["bytesOf"] = (sessionId) => this.#deps.own.bytesOf(sessionId);
  readonly usedBytes: Journal["usedBytes"] = () => this.#deps.own.usedBytes();
  readonly sweep: Journal["sweep"] = () => this.#deps.own.sweep();

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
