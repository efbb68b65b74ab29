import { damageIn } from "./damage.ts";
import { closedError, journalError } from "./journal-error.ts";
import type { Journal, JournalBatch } from "./journal.ts";
import type { Numbers } from "./chain.ts";
import type { SqliteJournal } from "./sqlite-journal.ts";

/** A journal that replaces a damaged one, and the last `seq` that is left of each running session. */
export interface Replaced {
  journal: SqliteJournal;
  tails: Map<string, number>;
}

interface MendedJournalDeps {
  file: string;
  /** The problem that another process has marked the journal with; null where there is none. */
  suspected(): Promise<string | null>;
  /**
   * Replaces the file, which no journal has open, by a new one with what can be read.
   * @throws {Error} where that fails; the damaged file stays as it was
   */
  replace(problem: string, numbers: Numbers): Promise<Replaced>;
}

/** An append until it is durable. */
interface Outstanding {
  batch: JournalBatch;
  resolve(bytes: number): void;
  reject(error: unknown): void;
}

/** Damaged files that are replaced within a time; beyond it a broken disk would fill with them. */
const mostMends = 3;
const mendsWithinMs = 3_600_000;
/** Time after which a replacement that failed is tried again. Milliseconds. */
const retryAfterMs = 5000;

/** A journal whose file is replaced when it turns out damaged. Calls wait; undurable appends are made again. */
export class MendedJournal implements Journal {
  readonly #deps: MendedJournalDeps;
  #journal: SqliteJournal;
  #mending: Promise<void> | null = null;
  #failed: { error: unknown; at: number; problem: string; numbers: Numbers } | null = null;
  #isClosed = false;
  readonly #outstanding = new Set<Outstanding>();
  /** Appends that a journal is at work on. */
  readonly #given = new Set<Promise<void>>();
  #tails = new Map<string, number>();
  readonly #mends: number[] = [];

  readonly read: Journal["read"] = (options) => this.#ask((journal) => journal.read(options));
  readonly openSessions: Journal["openSessions"] = () => this.#ask((journal) => journal.openSessions());
  readonly sessions: Journal["sessions"] = (filter) => this.#ask((journal) => journal.sessions(filter));
  readonly groups: Journal["groups"] = (span, before) => this.#ask((journal) => journal.groups(span, before));
  readonly session: Journal["session"] = (sessionId) => this.#ask((journal) => journal.session(sessionId));
  readonly history: Journal["history"] = (sessionId) => this.#ask((journal) => journal.history(sessionId));
  readonly spent: Journal["spent"] = (page) => this.#ask((journal) => journal.spent(page));
  readonly leftChildren: Journal["leftChildren"] = () => this.#ask((journal) => journal.leftChildren());
  readonly cursorOf: Journal["cursorOf"] = (sessionId, seq) => this.#ask((journal) => journal.cursorOf(sessionId, seq));
  readonly delete: Journal["delete"] = (sessionId, by, terms) =>
    this.#ask((journal) => journal.delete(sessionId, by, terms));
  readonly findKey: Journal["findKey"] = (name) => this.#ask((journal) => journal.findKey(name));
  readonly noteKey: Journal["noteKey"] = (record, most) => this.#ask((journal) => journal.noteKey(record, most));
  readonly oldestEnded: Journal["oldestEnded"] = () => this.#ask((journal) => journal.oldestEnded());
  readonly bytesOf: Journal["bytesOf"] = (sessionId) => this.#ask((journal) => journal.bytesOf(sessionId));
  readonly usedBytes: Journal["usedBytes"] = () => this.#ask((journal) => journal.usedBytes());

  constructor(journal: SqliteJournal, deps: MendedJournalDeps) {
    this.#journal = journal;
    this.#deps = deps;
  }

  get lastGseq(): number {
    return this.#journal.lastGseq;
  }

  get waitsForDisk(): boolean {
    return this.#journal.waitsForDisk;
  }

  append(batch: JournalBatch): Promise<number> {
    return new Promise((resolve, reject) => {
      const outstanding = { batch, resolve, reject };
      if (this.#failed !== null && !this.#mayRetry()) return void reject(this.#failed.error);
      this.#outstanding.add(outstanding);
      if (this.#failed !== null) void this.#mendAgain();
      else if (this.#mending === null) this.#give(outstanding);
    });
  }

  async sweep(): Promise<void> {
    const problem = await this.#deps.suspected();
    if (problem !== null && !this.#isClosed && this.#failed === null) await this.#mend(this.#journal, problem);
    await this.#ask((journal) => journal.sweep());
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#mending?.catch(() => {});
    await this.#journal.close();
  }

  /** Asks the journal, and the new one where it turns out damaged or was replaced meanwhile. */
  async #ask<T>(act: (journal: SqliteJournal) => Promise<T>): Promise<T> {
    for (;;) {
      if (this.#mending !== null) await this.#mending;
      if (this.#failed !== null) await this.#mendAgain();
      const journal = this.#journal;
      try {
        return await act(journal);
      } catch (error) {
        if (this.#isClosed) throw error;
        if (journal !== this.#journal || this.#mending !== null) continue;
        const problem = damageIn(error);
        if (problem === null || !this.#mayMend()) throw error;
        await this.#mend(journal, problem);
      }
    }
  }

  #give(outstanding: Outstanding): void {
    const journal = this.#journal;
    const { batch, resolve, reject } = outstanding;
    if (this.#tails.size > 0) this.#noteTail(batch);
    const given = journal.append(batch).then((bytes) => {
      this.#outstanding.delete(outstanding);
      resolve(bytes);
    }, (error: unknown) => {
      const problem = damageIn(error);
      const isReplaced = journal !== this.#journal || this.#mending !== null;
      // It is given to the journal that comes.
      if (isReplaced && !this.#isClosed) return;
      if (problem !== null && !this.#isClosed && this.#mayMend()) {
        return void this.#mend(journal, problem).catch(() => {});
      }
      this.#outstanding.delete(outstanding);
      reject(error);
    });
    this.#given.add(given);
    void given.then(() => this.#given.delete(given));
  }

  /** Notes what is missing between the last event that is left of a running session and the next one. */
  #noteTail({ session_id, envelopes }: JournalBatch): void {
    const left = this.#tails.get(session_id);
    const [next] = envelopes;
    if (left === undefined || next === undefined) return;
    this.#tails.delete(session_id);
    if (next.seq > left + 1) {
      this.#journal.noteLost({ session_id, from_seq: left + 1, to_seq: next.seq - 1, at: next.ts });
    }
  }

  #mend(journal: SqliteJournal, problem: string): Promise<void> {
    if (this.#mending !== null) return this.#mending;
    if (journal !== this.#journal) return Promise.resolve();
    this.#mends.push(Date.now());
    return this.#replacing(async () => {
      const numbers = await journal.abandon();
      await Promise.all(this.#given);
      return { problem, numbers };
    });
  }

  #mendAgain(): Promise<void> {
    if (this.#mending !== null) return this.#mending;
    const failed = this.#failed!;
    if (!this.#mayRetry()) return Promise.reject(failed.error);
    return this.#replacing(() => Promise.resolve(failed));
  }

  #replacing(begin: () => Promise<{ problem: string; numbers: Numbers }>): Promise<void> {
    const mending = this.#replace(begin).finally(() => {
      this.#mending = null;
      if (this.#failed === null) { for (const outstanding of [...this.#outstanding]) this.#give(outstanding); }
    });
    this.#mending = mending;
    mending.catch(() => {});
    return mending;
  }

  async #replace(begin: () => Promise<{ problem: string; numbers: Numbers }>): Promise<void> {
    const { problem, numbers } = await begin();
    try {
      const { journal, tails } = await this.#deps.replace(problem, numbers);
      this.#journal = journal;
      this.#tails = tails;
      this.#failed = null;
    } catch (cause) {
      const error = journalError(`Cannot set the damaged journal "${this.#deps.file}" aside`, cause);
      this.#failed = { error, at: Date.now(), problem, numbers };
      for (const { reject } of this.#outstanding) reject(error);
      this.#outstanding.clear();
      throw error;
    }
  }

  #mayRetry(): boolean {
    if (this.#isClosed) throw closedError();
    return this.#failed !== null && Math.abs(Date.now() - this.#failed.at) >= retryAfterMs;
  }

  #mayMend(): boolean {
    const since = Date.now() - mendsWithinMs;
    return this.#mends.filter((at) => at > since).length < mostMends;
  }
}
