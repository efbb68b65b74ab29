import type { Envelope } from "../../plugin-sdk/envelope.ts";
import { onNextTurn } from "../runtime/next-turn.ts";
import { closedError } from "./journal-error.ts";
import { defaultJournalLimits, type JournalLimits } from "./journal-limits.ts";
import { type JournalRow, rowOf } from "./journal-row.ts";
import type { Journal, JournalBatch, ReadOptions } from "./journal.ts";
import { readPage } from "./read-page.ts";

/** A journal that ends with its process, for hosts without a state folder. Beyond its limit the oldest is dropped. */
export function createMemoryJournal(options: { limits?: Partial<JournalLimits> } = {}): Journal {
  return new MemoryJournal({ ...defaultJournalLimits, ...options.limits });
}

class MemoryJournal implements Journal {
  readonly #limits: JournalLimits;
  #rows: JournalRow[] = [];
  /** Index of the oldest row that is held. */
  #start = 0;
  #bytes = 0;
  #lastGseq = 0;
  #isClosed = false;
  readonly #open = new Set<string>();

  constructor(limits: JournalLimits) {
    this.#limits = limits;
  }

  get lastGseq(): number {
    return this.#lastGseq;
  }

  async append(batch: JournalBatch): Promise<void> {
    if (this.#isClosed) throw closedError();
    const row = rowOf(batch, this.#lastGseq);
    if (row === null) return;
    this.#rows.push(row);
    this.#bytes += row.body.length;
    this.#lastGseq = row.last_gseq;
    if (row.opens) this.#open.add(row.session_id);
    if (row.closes) this.#open.delete(row.session_id);
    this.#dropOldest();
  }

  async read(options: ReadOptions): Promise<Envelope[]> {
    // Whoever reads page after page must not keep everyone else from their turn.
    await new Promise<void>(onNextTurn);
    if (this.#isClosed) throw closedError();
    return readPage(options, { limits: this.#limits, findRow: (after, sessionId) => this.#findRow(after, sessionId) });
  }

  async openSessions(): Promise<string[]> {
    if (this.#isClosed) throw closedError();
    return [...this.#open];
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#rows = [];
  }

  #findRow(after: number, sessionId: string | undefined): JournalRow | undefined {
    let low = this.#start;
    let high = this.#rows.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#rows[middle]?.last_gseq ?? 0) > after) high = middle;
      else low = middle + 1;
    }
    if (sessionId === undefined) return this.#rows[low];
    while (low < this.#rows.length && this.#rows[low]?.session_id !== sessionId) low++;
    return this.#rows[low];
  }

  #dropOldest(): void {
    while (this.#bytes > this.#limits.memory_bytes && this.#start < this.#rows.length - 1) {
      this.#bytes -= this.#rows[this.#start++]?.body.length ?? 0;
    }
    // Moving the rest at every drop would cost more than the space of the empty half.
    if (this.#start > this.#rows.length / 2) {
      this.#rows = this.#rows.slice(this.#start);
      this.#start = 0;
    }
  }
}
