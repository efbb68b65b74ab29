import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { startBackgroundTimer } from "../../ground/platform/engine/background-timer.ts";
import { collectGarbageOnce } from "../../ground/platform/engine/collect-garbage.ts";
import type { SqliteFile } from "../../ground/platform/state/sqlite.ts";
import { damageIn } from "../journal/damage.ts";
import type { JournalReader } from "../journal/journal-reader.ts";
import { type HistoryQueries, prepareQueries } from "./history-queries.ts";
import { openIndex, removeIndex } from "./index-schema.ts";
import { type IndexWrites, prepareWrites } from "./index-writes.ts";

/** An open index, and the journal of which it is made. */
export interface OpenIndex {
  database: SqliteFile;
  journal: JournalReader;
  writes: IndexWrites;
  queries: HistoryQueries;
}

interface IndexFilesOptions {
  file: string;
  openJournal(): Promise<JournalReader>;
  /** Time without a user after which the files are closed. Milliseconds. */
  idleMs: number;
}

/** The files of an index: open while they are used and a while longer, and made again when they turn out damaged. */
export class IndexFiles {
  readonly #options: IndexFilesOptions;
  #opening: Promise<OpenIndex> | null = null;
  /** Damaged files: a query that still uses them starts over with the new ones. */
  readonly #damaged = new WeakSet<Promise<OpenIndex>>();
  #users = 0;
  #stopTimer: () => void = () => {};

  constructor(options: IndexFilesOptions) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#opening !== null;
  }

  /**
   * Does something with the files; once more, with new ones, when the index turns out damaged. What is wrong with the
   * journal comes as a `journal_error`.
   * @throws {BulkheadError} `journal_error`
   */
  async use<T>(act: (files: OpenIndex) => T | Promise<T>): Promise<T> {
    this.#users++;
    this.#stopTimer();
    try {
      return await this.#twiceIfDamaged(act);
    } finally {
      if (--this.#users === 0) this.#stopTimer = startBackgroundTimer(() => void this.#rest(), this.#options.idleMs);
    }
  }

  /** Closes the files; the next use opens them again. Never throws. */
  async close(): Promise<void> {
    this.#stopTimer();
    const opening = this.#opening;
    this.#opening = null;
    const files = await opening?.catch(() => null);
    files?.journal.close();
    files?.database.close();
  }

  async #rest(): Promise<void> {
    await this.close();
    // A prepared statement keeps its connection and the files open until it is collected.
    if (!this.isOpen) collectGarbageOnce();
  }

  async #twiceIfDamaged<T>(act: (files: OpenIndex) => T | Promise<T>): Promise<T> {
    const opening = this.#open();
    try {
      return await act(await opening);
    } catch (error) {
      if (!(error instanceof BulkheadError) && damageIn(error) !== null) this.#replace(opening);
      if (!this.#damaged.has(opening)) throw error;
      return await act(await this.#open());
    }
  }

  #open(): Promise<OpenIndex> {
    return this.#opening ?? this.#keep(openFiles(this.#options));
  }

  /** Throws a damaged index away, unless another user has done it, and opens a new one. */
  #replace(damaged: Promise<OpenIndex>): void {
    if (this.#damaged.has(damaged)) return;
    this.#damaged.add(damaged);
    void this.#keep(this.close().then(() => removeIndex(this.#options.file)).then(() => openFiles(this.#options)));
  }

  #keep(opening: Promise<OpenIndex>): Promise<OpenIndex> {
    this.#opening = opening;
    opening.catch(() => {
      if (this.#opening === opening) this.#opening = null;
    });
    return opening;
  }
}

async function openFiles({ file, openJournal }: IndexFilesOptions): Promise<OpenIndex> {
  const journal = await openJournal();
  try {
    const database = await openIndex(file);
    try {
      return { database, journal, writes: prepareWrites(database), queries: prepareQueries(database) };
    } catch (error) {
      database.close();
      throw error;
    }
  } catch (error) {
    journal.close();
    throw error;
  }
}
