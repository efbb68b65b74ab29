import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { SessionHistory } from "../../../plugin-sdk/session-history.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { type JournalReader, openJournalReader } from "../../records/journal/journal-reader.ts";
import type { SessionFilter, SessionRecord } from "../../records/journal/session-record.ts";
import { openJournal } from "../../records/journal/sqlite-journal.ts";
import { wait } from "../../ground/runtime/wait.ts";
import type { EventQuery } from "./session-host.ts";
import { claimPartOf } from "./state-claim.ts";
import { type StateJournal, stateJournals } from "./state-journals.ts";

/** Interval at which a session that runs in another host is checked for new events. Milliseconds. */
const lookEveryMs = 250;

/** A session that another host of the same state folder runs or ran. */
export interface ElsewhereSession {
  record: SessionRecord;
  journal: StateJournal;
}

/** The journals of the other hosts of a state folder, running and gone. */
export class OtherJournals {
  readonly #stateDir: string;
  readonly #ownFile: string;

  constructor(stateDir: string, { ownFile }: { ownFile: string }) {
    this.#stateDir = stateDir;
    this.#ownFile = ownFile;
  }

  /**
   * Returns the matching sessions, the newest of each journal. Skips unreadable journals: their own host reports them.
   */
  async list(filter: SessionFilter): Promise<SessionRecord[]> {
    const found = await this.#each((reader) => reader.sessions(filter));
    return found.flatMap(({ value }) => value);
  }

  /** Returns one session, or its tombstone; null when no other host has it. */
  async find(sessionId: string): Promise<ElsewhereSession | null> {
    const found = await this.#each((reader) => reader.session(sessionId));
    for (const { value: record, journal } of found) if (record !== null) return { record, journal };
    return null;
  }

  /** Returns the session's grants, attempts and programs. */
  async history({ record: { session_id }, journal: { file } }: ElsewhereSession): Promise<SessionHistory> {
    const reader = await openJournalReader(file);
    try {
      return await reader.history(session_id);
    } finally {
      reader.close();
    }
  }

  /** Streams its events after a `seq` as they are written; ends as a session's events do. */
  async *events(
    { record: { session_id: sessionId }, journal }: ElsewhereSession,
    { after = 0, signal = new AbortController().signal }: EventQuery,
  ): AsyncGenerator<Envelope, void, void> {
    const reader = await openJournalReader(journal.file);
    try {
      let cursor = await reader.cursorOf(sessionId, after) ?? 0;
      while (!signal.aborted) {
        const page = await reader.read({ after: cursor, sessionId });
        for (const envelope of page) {
          if (envelope.seq > after) yield envelope;
          if (envelope.event.type === "session_ended" || envelope.event.type === "gap") return;
        }
        cursor = page.at(-1)?.gseq ?? cursor;
        if (page.length === 0) await wait(lookEveryMs, signal);
      }
    } finally {
      reader.close();
    }
  }

  /**
   * Deletes a session that has ended.
   * @throws {BulkheadError} `busy` while its host runs
   */
  async delete({ record: { session_id }, journal: { part, file } }: ElsewhereSession): Promise<void> {
    const claim = await claimPartOf(this.#stateDir, part);
    if (claim === null) {
      throw new BulkheadError("busy", `Cannot delete session "${session_id}": the host that has it is still running.`, {
        hint: "Try again when that host has ended.",
        details: { session_id },
      });
    }
    try {
      const journal = await openJournal(file);
      try {
        await journal.delete(session_id, "client");
      } finally {
        await journal.close();
      }
    } finally {
      await claim.release();
    }
  }

  async #each<T>(ask: (reader: JournalReader) => Promise<T>): Promise<{ value: T; journal: StateJournal }[]> {
    const all = await stateJournals(this.#stateDir);
    const others = all.filter(({ file }) => file !== this.#ownFile);
    const answers = await Promise.all(others.map(async (journal) => {
      try {
        const reader = await openJournalReader(journal.file);
        try {
          return [{ value: await ask(reader), journal }];
        } finally {
          reader.close();
        }
      } catch {
        return [];
      }
    }));
    return answers.flat();
  }
}
