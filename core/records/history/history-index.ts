import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { isThere } from "../git/look-at.ts";
import { nextTurn } from "../../ground/platform/engine/next-turn.ts";
import { sleep } from "../../ground/platform/engine/wait.ts";
import { within } from "../../ground/platform/engine/within.ts";
import type { JournalReader } from "../journal/journal-reader.ts";
import { usedBytes } from "../journal/journal-database.ts";
import type { HistoryQueries } from "./history-queries.ts";
import { IndexFiles, type OpenIndex } from "./index-files.ts";
import type { IndexWrites } from "./index-writes.ts";
import { JoinedOutputs } from "./joined-outputs.ts";

interface HistoryIndexOptions {
  /** Path of the index. It can be deleted: it is made again. */
  file: string;
  openJournal(): Promise<JournalReader>;
  /** The number of the newest event. */
  newest(): number;
  /** Bytes beyond which the oldest tenth is dropped; default 512 MiB. */
  mostBytes?: number;
  /** Time without a question after which the files are closed; default one minute. */
  idleMs?: number;
}

interface IndexProgress {
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
 * An index of a journal for questions about its history: words, uses of permissions, moments. It is made on
 * the first question and goes on only with later ones, a few events in a turn and never for more than half of the
 * time, so that sessions do not notice.
 */
export class HistoryIndex {
  readonly #options: Required<HistoryIndexOptions>;
  readonly #files: IndexFiles;
  #running: Promise<void> | null = null;
  #purgedAt = -Infinity;
  #purging: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: HistoryIndexOptions) {
    this.#options = { mostBytes: 512 * 1024 * 1024, idleMs: 60_000, ...options };
    this.#files = new IndexFiles(this.#options);
  }

  /**
   * Asks a question of the index, once it is complete or has been waited for long enough.
   * @throws {BulkheadError} `journal_error`
   */
  async ask<T>(
    question: (queries: HistoryQueries, journal: JournalReader) => T | Promise<T>,
  ): Promise<T & IndexProgress> {
    return await this.#files.use(async ({ queries, journal, writes }) => {
      const running = this.#running ??= this.#catchUp();
      running.catch(() => {});
      await within(running, patienceMs);
      const answer = await question(queries, journal);
      return { ...answer, indexed_to: writes.indexedTo(), last: this.#options.newest() };
    });
  }

  /** Removes what the index holds of deleted sessions, where there is an index. Never throws. */
  forgetDeleted(): void {
    if (this.#closed) return;
    this.#purgedAt = -Infinity;
    this.#purging = this.#purging.then(async () => {
      if (this.#closed || !this.#files.isOpen && !(await isThere(this.#options.file))) return;
      await this.#running?.catch(() => {});
      await this.#files.use(({ journal, writes }) => this.#purge(journal, writes));
    }).catch(() => {});
  }

  /** Opens the files again at the next question: another journal has taken the place of a damaged one. */
  renew(): void {
    void this.#files.close();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#running?.catch(() => {});
    await this.#purging;
    await this.#files.close();
  }

  async #catchUp(): Promise<void> {
    try {
      await this.#files.use((files) => this.#readOn(files));
    } finally {
      this.#running = null;
    }
  }

  async #readOn({ database, journal, writes }: OpenIndex): Promise<void> {
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
      await nextTurn();
    }
  }
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
