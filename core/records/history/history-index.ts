import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { stat } from "../../ground/runtime/files.ts";
import { onNextTurn } from "../../ground/runtime/next-turn.ts";
import type { SqliteFile } from "../../ground/runtime/sqlite.ts";
import { sleep } from "../../ground/runtime/wait.ts";
import { within } from "../../ground/runtime/within.ts";
import type { JournalReader } from "../journal/journal-reader.ts";
import { usedBytes } from "../journal/journal-database.ts";
import { openIndex } from "./index-schema.ts";
import { JoinedOutputs } from "./joined-outputs.ts";
import { type IndexWrites, prepareWrites } from "./index-writes.ts";
import { type HistoryQueries, prepareQueries } from "./history-queries.ts";

/** Options of {@link HistoryIndex}. */
export interface HistoryIndexOptions {
  /** Path of the index. It can be deleted: it is made again. */
  file: string;
  openJournal(): Promise<JournalReader>;
  /** The number of the newest event. */
  newest(): number;
  /** Bytes beyond which the oldest tenth is dropped; default 512 MiB. */
  mostBytes?: number;
}

/** Progress of the index. */
export interface IndexProgress {
  /** Number of the last event that is in it. */
  indexed_to: number;
  /** Number of the newest event. */
  last: number;
}

/** Events of one turn: so many that their work takes about this long. Milliseconds. */
const turnMs = 5;
const mostInOneTurn = 512;
/** How long a question waits for the index to be complete. Milliseconds. */
const patienceMs = 1500;
/** Time between two looks for sessions that were deleted. Milliseconds. */
const purgeMs = 60_000;
/** Sessions that one turn looks at. */
const purgedInOneTurn = 200;

/**
 * An index of a journal for questions about its history: words, uses of permissions, spending, moments. It is made on
 * the first question and goes on only with later ones, a few events in a turn and never for more than half of the
 * time, so that sessions do not notice.
 */
export class HistoryIndex {
  readonly #options: Required<HistoryIndexOptions>;
  #opening:
    | Promise<{ database: SqliteFile; journal: JournalReader; writes: IndexWrites; queries: HistoryQueries }>
    | null = null;
  #running: Promise<void> | null = null;
  #purgedAt = -Infinity;
  #purging: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: HistoryIndexOptions) {
    this.#options = { mostBytes: 512 * 1024 * 1024, ...options };
  }

  /**
   * Asks a question of the index, once it is complete or has been waited for long enough.
   * @throws {BulkheadError} `journal_error`
   */
  async ask<T>(
    question: (queries: HistoryQueries, journal: JournalReader) => T | Promise<T>,
  ): Promise<T & IndexProgress> {
    const { queries, journal, writes } = await this.#open();
    const running = this.#running ??= this.#catchUp();
    running.catch(() => {});
    await within(running, patienceMs);
    const answer = await question(queries, journal);
    return { ...answer, indexed_to: writes.indexedTo(), last: this.#options.newest() };
  }

  /** Removes what the index holds of deleted sessions, where there is an index. Never throws. */
  forgetDeleted(): void {
    if (this.#closed) return;
    this.#purgedAt = -Infinity;
    this.#purging = this.#purging.then(async () => {
      if (this.#closed || this.#opening === null && !(await isThere(this.#options.file))) return;
      await this.#running?.catch(() => {});
      const { journal, writes } = await this.#open();
      await this.#purge(journal, writes);
    }).catch(() => {});
  }

  /** Stops, and closes the files. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running?.catch(() => {});
    await this.#purging;
    const opened = await this.#opening?.catch(() => null);
    opened?.journal.close();
    opened?.database.close();
  }

  #open() {
    return this.#opening ??= this.#openBoth().catch((error: unknown) => {
      this.#opening = null;
      throw error;
    });
  }

  async #openBoth() {
    const journal = await this.#options.openJournal();
    try {
      const database = await openIndex(this.#options.file);
      return { database, journal, writes: prepareWrites(database), queries: prepareQueries(database) };
    } catch (error) {
      journal.close();
      throw error;
    }
  }

  async #catchUp(): Promise<void> {
    try {
      const { database, journal, writes } = await this.#open();
      await this.#purge(journal, writes);
      const joined = new JoinedOutputs();
      let limit = 32;
      for (let after = writes.indexedTo(); !this.#closed;) {
        const started = performance.now();
        const envelopes = await journal.read({ after, limit, skipDamaged: true });
        writes.inTransaction(() => write(envelopes, { writes, joined }));
        const last = envelopes.at(-1);
        if (last === undefined) return;
        after = last.gseq;
        if (usedBytes(database) > this.#options.mostBytes) writes.inTransaction(() => writes.dropOldest());
        const ms = performance.now() - started;
        limit = Math.max(1, Math.min(mostInOneTurn, Math.round(limit * Math.min(2, turnMs / ms))));
        await sleep(ms);
      }
    } finally {
      this.#running = null;
    }
  }

  /** Removes sessions whose events are gone. */
  async #purge(journal: JournalReader, writes: IndexWrites): Promise<void> {
    if (performance.now() - this.#purgedAt < purgeMs) return;
    this.#purgedAt = performance.now();
    for (let after = 0;;) {
      const sessions = writes.sessionsAfter(after, purgedInOneTurn);
      const last = sessions.at(-1);
      if (last === undefined || this.#closed) return;
      for (const { session_id, number } of sessions) {
        const record = await journal.session(session_id);
        if (record === null || record.deleted !== null) writes.inTransaction(() => writes.dropSession(number));
      }
      after = last.number;
      await new Promise<void>(onNextTurn);
    }
  }
}

function isThere(file: string): Promise<boolean> {
  return stat(file).then(() => true, () => false);
}

/** Writes events in order; without any, what is still incomplete. */
function write(
  envelopes: readonly Envelope[],
  { writes, joined }: { writes: IndexWrites; joined: JoinedOutputs },
): void {
  for (const envelope of envelopes) {
    writes.note(envelope);
    for (const document of joined.add(envelope)) writes.addDocument(document);
  }
  const last = envelopes.at(-1);
  if (last !== undefined) return writes.tick(last, Math.min(last.gseq, (joined.oldest ?? Infinity) - 1));
  for (const document of joined.rest()) {
    writes.addDocument(document);
    writes.complete();
  }
}
