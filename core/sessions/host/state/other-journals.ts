import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import type { Envelope } from "../../../../plugin-sdk/envelope.ts";
import { EndedLines } from "../../../records/journal/ended-lines.ts";
import { type JournalReader, openJournalReader } from "../../../records/journal/journal-reader.ts";
import type { SessionGroup } from "../../../records/journal/session-groups.ts";
import { groupPages } from "../../../records/journal/session-pages.ts";
import type { SessionFilter, SessionRecord, SessionSpan } from "../../../records/journal/session-record.ts";
import { openJournal } from "../../../records/journal/open-journal.ts";
import { wait } from "../../../ground/platform/engine/wait.ts";
import type { ElsewhereSession, ElsewhereSessions, ElsewhereSummary } from "../host-seams.ts";
import type { EventQuery } from "../../../../plugin-sdk/queries.ts";
import { type SpentPages, spentPages } from "../session-usage.ts";
import { claimPartOf } from "./state-claim.ts";
import { type StateJournal, stateJournals } from "./state-journals.ts";

/** Interval at which a session that runs in another host is checked for new events. Milliseconds. */
const lookEveryMs = 250;

/** The journals of the other hosts of a state folder, running and gone. */
export class OtherJournals implements ElsewhereSessions {
  readonly #stateDir: string;
  readonly #ownFile: string;
  readonly #ended = new EndedLines();

  constructor(stateDir: string, { ownFile }: { ownFile: string }) {
    this.#stateDir = stateDir;
    this.#ownFile = ownFile;
  }

  /** Skips unreadable journals: their own host reports them. */
  async list(filter: SessionFilter, { facts = false }: { facts?: boolean } = {}): Promise<ElsewhereSummary[]> {
    const found = await this.#each(async (reader) => {
      const records = await reader.sessions(filter);
      const lines = facts ? await this.#ended.of(reader, records) : null;
      return records.map((record) => ({ record, waiting: [], lines: lines?.get(record.session_id) }));
    });
    return found.flatMap(({ value }) => value);
  }

  groups(span: SessionSpan): AsyncIterable<SessionGroup[]> {
    return this.#pages((reader) => groupPages(reader, span));
  }

  spent(since: string): SpentPages {
    return this.#pages((reader) => spentPages(reader, since));
  }

  /** Skips unreadable journals, as {@link list} does. */
  async *#pages<T>(read: (reader: JournalReader) => AsyncIterable<T>): AsyncGenerator<T, void, void> {
    for (const { file } of await this.#others()) {
      const reader = await openJournalReader(file).catch(() => null);
      if (reader === null) continue;
      try {
        yield* read(reader);
      } catch (error) {
        if (!(error instanceof BulkheadError)) throw error;
      } finally {
        reader.close();
      }
    }
  }

  async find(sessionId: string): Promise<ElsewhereSession | null> {
    const found = await this.#each((reader) => reader.session(sessionId));
    for (const { value: record, journal } of found) if (record !== null) return this.#session(record, journal);
    return null;
  }

  #session(record: SessionRecord, journal: StateJournal): ElsewhereSession {
    const { session_id } = record;
    return {
      record,
      waiting: () => Promise.resolve([]),
      read: (options) => readFrom(journal, (reader) => reader.read(options)),
      history: () => readFrom(journal, (reader) => reader.history(session_id)),
      events: (query) => follow(session_id, { journal, query }),
      delete: () => this.#delete(session_id, journal),
      interrupt: () =>
        Promise.reject(
          new BulkheadError("busy", `Cannot interrupt session "${session_id}": another host runs it.`, {
            hint: "Interrupt it where it was started.",
            details: { session_id },
          }),
        ),
      answer: () => Promise.resolve(false),
    };
  }

  /** @throws {BulkheadError} `busy` while its host runs */
  async #delete(session_id: string, { part, file }: StateJournal): Promise<void> {
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

  async #others(): Promise<StateJournal[]> {
    return (await stateJournals(this.#stateDir)).filter(({ file }) => file !== this.#ownFile);
  }

  async #each<T>(ask: (reader: JournalReader) => Promise<T>): Promise<{ value: T; journal: StateJournal }[]> {
    const others = await this.#others();
    const answers = await Promise.all(others.map(async (journal) => {
      const value = await readFrom(journal, ask).catch(() => undefined);
      return value === undefined ? [] : [{ value, journal }];
    }));
    return answers.flat();
  }
}

async function readFrom<T>({ file }: StateJournal, ask: (reader: JournalReader) => Promise<T>): Promise<T> {
  const reader = await openJournalReader(file);
  try {
    return await ask(reader);
  } finally {
    reader.close();
  }
}

async function* follow(
  sessionId: string,
  { journal, query }: { journal: StateJournal; query: EventQuery },
): AsyncGenerator<Envelope, void, void> {
  const { after = 0, signal = new AbortController().signal } = query;
  const reader = await openJournalReader(journal.file);
  try {
    let cursor = await reader.cursorOf(sessionId, after) ?? 0;
    while (!signal.aborted) {
      const page = await reader.read({ after: cursor, sessionId });
      for (const envelope of page) {
        if (envelope.seq > after) yield envelope;
        const { event } = envelope;
        if (event.type === "session_ended" || (event.type === "gap" && event.damaged !== true)) return;
      }
      cursor = page.at(-1)?.gseq ?? cursor;
      if (page.length === 0) await wait(lookEveryMs, signal);
    }
  } finally {
    reader.close();
  }
}
