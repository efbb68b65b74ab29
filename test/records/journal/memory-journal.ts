import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { onNextTurn } from "../../../core/ground/platform/engine/next-turn.ts";
import type { Tombstone } from "../../../core/records/journal/gap.ts";
import { closedError } from "../../../core/records/journal/journal-error.ts";
import { defaultJournalLimits, type JournalLimits } from "../../../core/records/journal/journal-limits.ts";
import { type JournalRow, rowOf } from "../../../core/records/journal/journal-row.ts";
import type { Cursor, Journal, JournalBatch, ReadOptions } from "../../../core/records/journal/journal.ts";
import type { SessionHistory } from "../../../plugin-sdk/session-history.ts";
import { addFact, emptyHistory } from "../../../core/records/journal/history-fact.ts";
import type { LeftChild } from "../../../core/records/journal/history-table.ts";
import type { KeyRecord } from "../../../core/records/journal/key-table.ts";
import type { SpentPage, SpentRecord } from "../../../core/records/journal/spend-table.ts";
import { readPage, type TombstoneRange } from "../../../core/records/journal/read-page.ts";
import { fitsQuery, type GroupPage } from "../../../core/records/journal/session-groups.ts";
import {
  compareByAge,
  type DeletedBy,
  type SessionFilter,
  type SessionRecord,
  type SessionSpan,
} from "../../../core/records/journal/session-record.ts";

/**
 * A journal that ends with its process, for tests. Beyond its limit it drops the oldest rows.
 */
export function createMemoryJournal(options: { limits?: Partial<JournalLimits> } = {}): Journal {
  return new MemoryJournal({ ...defaultJournalLimits, ...options.limits });
}

class MemoryJournal implements Journal {
  readonly waitsForDisk = false;
  readonly #limits: JournalLimits;
  #rows: JournalRow[] = [];
  /** Index of the oldest row still held. */
  #start = 0;
  #bytes = 0;
  #lastGseq = 0;
  #isClosed = false;
  readonly #keys = new Map<string, KeyRecord>();
  readonly #histories = new Map<string, SessionHistory>();
  /** In the order of their starts. */
  readonly #sessions = new Map<string, SessionRecord>();

  constructor(limits: JournalLimits) {
    this.#limits = limits;
  }

  get lastGseq(): number {
    return this.#lastGseq;
  }

  async append(batch: JournalBatch): Promise<number> {
    if (this.#isClosed) throw closedError();
    const row = rowOf(batch, this.#lastGseq);
    if (row === null) return 0;
    this.#rows.push(row);
    this.#bytes += row.body.length;
    this.#lastGseq = row.last_gseq;
    this.#note(row);
    this.#dropOldest();
    return row.body.length;
  }

  async read(options: ReadOptions): Promise<Envelope[]> {
    // A reader of many pages must not block other work.
    await new Promise<void>(onNextTurn);
    if (this.#isClosed) throw closedError();
    return readPage(options, {
      limits: this.#limits,
      findRow: (after, sessionId) => this.#findRow(after, sessionId),
      findLost: () => [],
      findTombstones: (range) => this.#findTombstones(range),
    });
  }

  async spent({ after, since, limit }: SpentPage): Promise<SpentRecord[]> {
    const all = [...this.#sessions.values()].flatMap(({ session_id, first_gseq, last_gseq, started_at, labels }) => {
      const spent = this.#rows.find((row) => row.session_id === session_id && row.spent !== null)?.spent;
      return spent && first_gseq > after && started_at >= since
        ? [{ session_id, first_gseq, last_gseq, started_at, labels: JSON.stringify(labels), ...spent }]
        : [];
    });
    return all.slice(0, limit);
  }

  async openSessions(): Promise<string[]> {
    if (this.#isClosed) throw closedError();
    return [...this.#sessions.values()].filter(({ state }) => state === "running").map(({ session_id }) => session_id);
  }

  async sessions(filter: SessionFilter): Promise<SessionRecord[]> {
    if (this.#isClosed) throw closedError();
    const found = [...this.#sessions.values()].filter((session) => fits(session, filter)).sort(compareByAge);
    return structuredClone(found.slice(0, filter.limit));
  }

  async groups(span: SessionSpan): Promise<GroupPage> {
    const groups = (await this.sessions({ ...span, limit: Infinity })).map(
      ({ state, outcome, adapter_id, labels, workdir, stop_reason }) => ({
        state,
        outcome,
        adapter_id,
        labels,
        folder: workdir.split("/").at(-1)!,
        interrupted: stop_reason === "interrupted",
        count: 1,
      }),
    );
    return { groups, next: null };
  }

  async session(sessionId: string): Promise<SessionRecord | null> {
    if (this.#isClosed) throw closedError();
    return structuredClone(this.#sessions.get(sessionId) ?? null);
  }

  async history(sessionId: string): Promise<SessionHistory> {
    if (this.#isClosed) throw closedError();
    const known = this.#histories.get(sessionId) ?? emptyHistory();
    return structuredClone(settledHistory(known, this.#sessions.get(sessionId)?.ended_at ?? null));
  }

  async leftChildren(): Promise<LeftChild[]> {
    if (this.#isClosed) throw closedError();
    return [...this.#histories].flatMap(([session_id, { children }]) =>
      children.filter(({ ended_at }) => ended_at === null).map(({ pid, identity, program }) => ({
        session_id,
        pid,
        identity,
        program,
      }))
    );
  }

  async cursorOf(sessionId: string, seq: number): Promise<Cursor | null> {
    if (this.#isClosed) throw closedError();
    const row = this.#rows.find((one) => one.session_id === sessionId && one.last_seq > seq);
    return row === undefined ? null : row.first_gseq - 1;
  }

  async delete(
    sessionId: string,
    by: DeletedBy,
    { leftOpen = false }: { leftOpen?: boolean } = {},
  ): Promise<boolean> {
    if (this.#isClosed) throw closedError();
    const session = this.#sessions.get(sessionId);
    if (session === undefined || session.deleted !== null) return false;
    if (session.state === "running" && !leftOpen) return false;
    const deleted = { at: new Date().toISOString(), by };
    const last_gseq = this.#rows.findLast((row) => row.session_id === sessionId)?.last_gseq ?? session.last_gseq;
    Object.assign(session, { state: "ended", last_gseq, deleted, workdir: "", title: "", task_id: null, labels: {} });
    for (const { name, session_id } of this.#keys.values()) if (session_id === sessionId) this.#keys.delete(name);
    this.#histories.delete(sessionId);
    this.#rows = this.#rows.slice(this.#start).filter(({ session_id }) => session_id !== sessionId);
    this.#start = 0;
    this.#bytes = this.#rows.reduce((bytes, { body }) => bytes + body.length, 0);
    return true;
  }

  async findKey(name: string): Promise<KeyRecord | null> {
    if (this.#isClosed) throw closedError();
    return this.#keys.get(name) ?? null;
  }

  async noteKey(record: KeyRecord, most: number): Promise<void> {
    if (this.#isClosed) throw closedError();
    this.#keys.delete(record.name);
    this.#keys.set(record.name, { ...record });
    for (const name of this.#keys.keys()) if (this.#keys.size > most) this.#keys.delete(name);
  }

  async oldestEnded(): Promise<SessionRecord | null> {
    if (this.#isClosed) throw closedError();
    const ended = [...this.#sessions.values()].filter(({ state, deleted }) => state === "ended" && deleted === null);
    return structuredClone(ended.sort((one, other) => one.last_gseq - other.last_gseq)[0] ?? null);
  }

  async bytesOf(sessionId: string): Promise<number> {
    if (this.#isClosed) throw closedError();
    return this.#rows.slice(this.#start).reduce(
      (bytes, { session_id, body }) => session_id === sessionId ? bytes + body.length : bytes,
      0,
    );
  }

  async usedBytes(): Promise<number> {
    if (this.#isClosed) throw closedError();
    return this.#bytes;
  }

  async sweep(): Promise<void> {
    if (this.#isClosed) throw closedError();
    const buried = [...this.#sessions.values()].filter(({ deleted }) => deleted !== null);
    for (const { session_id } of buried.slice(0, -this.#limits.tombstones)) this.#sessions.delete(session_id);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#rows = [];
  }

  #note(
    { session_id, first_gseq, last_gseq, last_seq, opening, adapter_id, turn, ending, facts, spent }: JournalRow,
  ): void {
    const history = this.#histories.get(session_id) ?? emptyHistory();
    if (facts.length > 0) this.#histories.set(session_id, history);
    for (const fact of facts) addFact(history, fact);
    if (opening !== null && !this.#sessions.has(session_id)) {
      const ended = {
        ended_at: null,
        outcome: null,
        stop_reason: null,
        deleted: null,
        cost: null,
        currency: null,
        model: null,
      };
      const before = [...this.#sessions.values()].at(-1)?.sorted_at ?? "";
      const sorted_at = before > opening.started_at ? before : opening.started_at;
      const numbers = { first_gseq, last_gseq: first_gseq, last_seq, sorted_at };
      this.#sessions.set(session_id, { session_id, state: "running", adapter_id, ...opening, ...ended, ...numbers });
    }
    const session = this.#sessions.get(session_id);
    if (session === undefined) return;
    session.last_seq = last_seq;
    if (adapter_id !== null) session.adapter_id = adapter_id;
    if (turn !== null) session.last_turn = turn;
    if (ending !== null) {
      Object.assign(session, ending, {
        state: "ended",
        last_gseq,
        cost: spent?.cost ?? null,
        currency: spent?.currency ?? null,
        model: spent?.model ?? null,
      });
    }
  }

  #findTombstones({ after, upTo, sessionId, limit }: TombstoneRange): Tombstone[] {
    return [...this.#sessions.values()]
      .filter((session): session is SessionRecord & Tombstone => session.deleted !== null)
      .filter((session) => sessionId === undefined || session.session_id === sessionId)
      .filter(({ last_gseq }) => last_gseq > after && last_gseq <= upTo)
      .sort((one, other) => one.last_gseq - other.last_gseq)
      .slice(0, limit);
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

function fits(session: SessionRecord, { before, conversation_id, ...query }: SessionFilter): boolean {
  return session.deleted === null && (before === undefined || compareByAge(session, before) > 0) &&
    (conversation_id === undefined || session.conversation_id === conversation_id) && fitsQuery(session, query);
}

/** The history of a session that has ended, or runs: an entry without an end of its own ended with the session. */
function settledHistory(history: SessionHistory, sessionEnd: string | null): SessionHistory {
  const attempts = history.attempts.map((one) => ({ ...one, ended_at: one.ended_at ?? sessionEnd }));
  return { ...history, attempts };
}
