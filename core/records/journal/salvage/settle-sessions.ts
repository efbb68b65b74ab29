import type { Envelope } from "../../../../plugin-sdk/envelope.ts";
import type { SqliteFile } from "../../../ground/platform/state/sqlite.ts";
import type { ChainedRow } from "../chain-table.ts";
import { factOf, mayHoldFacts } from "../history-fact.ts";
import { type HistoryTable, prepareHistoryTable } from "../history-table.ts";
import { prepareSpendTable, type SpendTable, spentOf } from "../spend-table.ts";
import type { NumberRun } from "../chain.ts";
import { envelopesAfter, type JournalRow } from "../journal-row.ts";
import { endingOf, openingOf } from "../session-record.ts";
import { orderSessions, prepareSessionTable, sessionColumns, type SessionTable } from "../session-table.ts";
import type { Draft } from "./draft.ts";

/** Events that are missing, by session. */
export interface LostEvents {
  /** Number of lost events of each session that is missing some; of those before this damage none. */
  sessions: Map<string, number>;
  /** True where the numbers are the most that can be missing: of a running session the end is not known. */
  isBound: boolean;
  /** The last `seq` that is left of each running session: what came after it is not known here. */
  tails: Map<string, number>;
  /** Numbers that no event has any more, the newest of them; null where there are none. */
  free: NumberRun | null;
}

interface Known {
  lastSeq: number;
  lastGseq: number;
  lastTs: string;
}

/** Sums up the sessions from their events, batch after batch in their order, and notes what is missing of each. */
export class SettledSessions {
  readonly #sessions: SessionTable;
  readonly #history: HistoryTable;
  readonly #spend: SpendTable;
  readonly #sql: ReturnType<typeof prepared>;
  readonly #known = new Map<string, Known>();
  /** Runs of numbers that no event has any more, the newest last. */
  readonly #free: [from: number, to: number][] = [];
  /** Numbers of links that are missing, in order. */
  readonly #holes: [from: number, to: number][] = [];
  readonly #lost = new Map<string, number>();
  /** Places of lost events, and how many each was. */
  readonly #places: { gseq: number; count: number }[] = [];
  #last = 0;
  #isBound = false;

  constructor(database: SqliteFile) {
    this.#sessions = prepareSessionTable(database);
    this.#history = prepareHistoryTable(database);
    this.#spend = prepareSpendTable(database);
    this.#sql = prepared(database);
  }

  /** Takes the numbers of events whose links are missing. */
  hole(from: number, to: number): void {
    if (from <= to && this.#holes.length < mostRuns) this.#holes.push([from, to]);
  }

  take(row: ChainedRow): void {
    this.#skipTo(row.first_gseq);
    this.#last = row.last_gseq;
    const { session_id, first_seq, last_seq, last_gseq } = row;
    const was = this.#sql.was.get(session_id) as WasSession | undefined;
    if (was?.state === 2 || this.#sql.deleted.get(session_id) !== undefined) return;
    const known = this.#known.get(session_id);
    const isFirst = known === undefined;
    const mayTell = isFirst || first_seq !== known.lastSeq + 1 || mayHoldFacts(row.body) ||
      row.body.includes('"type":"session_ended"');
    const envelopes = mayTell ? envelopesAfter(row.body, 0) : [];
    const ts = envelopes.at(-1)?.ts ?? known?.lastTs ?? "";
    const from = (known?.lastSeq ?? 0) + 1;
    const lost = { session_id, from, to: first_seq - 1, after: known?.lastGseq ?? 0, at: envelopes[0]?.ts ?? ts };
    if (first_seq > from) this.#lose(lost);
    if (isFirst) this.#open(row, { envelopes, hasRow: was !== undefined });
    if (mayTell) this.#note(row, envelopes);
    this.#known.set(session_id, { lastSeq: Math.max(last_seq, from - 1), lastGseq: last_gseq, lastTs: ts });
  }

  /** Ends with what only the old rows of the sessions tell. */
  async finish(
    draft: Draft,
    { lastGseq, isInUse }: { lastGseq: number; isInUse: boolean },
  ): Promise<LostEvents> {
    this.#skipTo(lastGseq + 1);
    for (let after = "";;) {
      const row = this.#sql.nextWas.get(after) as WasSession | undefined;
      if (row === undefined) break;
      after = row.session_id;
      const { session_id, state, last_seq, last_gseq, ended_at, started_at } = row;
      if (state === 2 || this.#sql.deleted.get(session_id) !== undefined) continue;
      const known = this.#known.get(session_id);
      const to = state === 1 ? last_seq ?? 0 : 0;
      const at = ended_at ?? known?.lastTs ?? started_at;
      const lost = { session_id, from: (known?.lastSeq ?? 0) + 1, to, after: known?.lastGseq ?? 0, at };
      if (to >= lost.from) this.#lose(lost, last_gseq);
      await draft.step(0);
    }
    await draft.commit();
    const columns = sessionColumns.join(", ");
    // The chain tells that a session was deleted, but neither when nor by whom.
    const now = new Date().toISOString();
    const ending = "state, last_gseq, last_seq, adapter_id, ended_at, outcome, stop_reason";
    await draft.aside(
      `INSERT OR IGNORE INTO session (${columns}) SELECT ${columns} FROM was_session;
      INSERT OR IGNORE INTO session (first_gseq, session_id, state, last_gseq, last_seq, workdir, title, labels,
        started_at, deleted_at, deleted_by, conversation_id) SELECT gseq, session_id, 2, gseq, 1, '', '', '{}', '${now}',
        '${now}', 'retention', session_id FROM link WHERE kind = 'deleted' AND session_id NOT IN (SELECT session_id FROM session);
      UPDATE session SET (${ending}) = (SELECT ${ending} FROM was_session AS was
        WHERE was.session_id = session.session_id)
        WHERE state = 0 AND session_id IN (SELECT session_id FROM was_session WHERE state = 1);
      ${orderSessions}`,
    );
    draft.begin();
    // A journal in use learns that from the next event of each.
    if (!isInUse) this.#loseTails();
    await draft.commit();
    const tails = new Map<string, number>();
    for (const id of this.#sessions.running()) tails.set(id, this.#known.get(id)?.lastSeq ?? 0);
    const [from, to] = this.#free.at(-1) ?? [1, 0];
    return { sessions: this.#lost, isBound: this.#isBound, tails, free: from > to ? null : { from, to } };
  }

  /**
   * Notes the end of each running session as lost, as far as the missing numbers can be of it. What its host showed under
   * these numbers must not be followed by other events of the same.
   */
  #loseTails(): void {
    // Of which running session a lost number was, nothing tells.
    const places = [...this.#places];
    for (const session_id of this.#sessions.running()) {
      const { lastSeq, lastGseq, lastTs } = this.#known.get(session_id) ?? { lastSeq: 0, lastGseq: 0, lastTs: "" };
      if (lastSeq === 0) continue;
      const inHoles = this.#holes.reduce(
        (sum, [from, to]) => sum + Math.max(0, to - Math.max(from, lastGseq + 1) + 1),
        0,
      );
      const ofOthers = places.reduce((sum, { gseq, count }) => sum + (gseq > lastGseq ? count : 0), 0);
      const to = lastSeq + inHoles - ofOthers;
      if (to <= lastSeq) continue;
      this.#isBound = true;
      this.#lose({ session_id, from: lastSeq + 1, to, after: lastGseq, at: lastTs });
    }
  }

  /** Notes a session with what its first events tell, or the old row where they are lost. */
  #open(row: ChainedRow, { envelopes, hasRow }: { envelopes: readonly Envelope[]; hasRow: boolean }): void {
    const [first] = envelopes;
    if (first === undefined || first.seq === 1) return;
    if (hasRow) {
      this.#sql.keep.run(row.session_id);
      return;
    }
    const opening = { ...openingOf(first), workdir: "", title: "", task_id: null, labels: {} };
    this.#sessions.note({
      ...row,
      opening,
      adapter_id: first.adapter.id,
      turn: null,
      ending: null,
      spent: null,
      facts: [],
    });
  }

  #note(row: ChainedRow, envelopes: readonly Envelope[]): void {
    const [first] = envelopes;
    const last = envelopes.at(-1);
    if (first === undefined || last === undefined) return;
    const facts = envelopes.flatMap((envelope) => factOf(envelope) ?? []);
    const adapter_id = facts.findLast((fact) => fact.what === "attempt")?.row.adapter_id ?? null;
    const turns = facts.flatMap((fact) => fact.what === "turn" ? [fact.turn] : []);
    const told: JournalRow = {
      ...row,
      opening: first.seq === 1 ? openingOf(first) : null,
      adapter_id,
      turn: turns.at(-1) ?? null,
      ending: endingOf(last),
      spent: spentOf(last),
      facts,
    };
    this.#sessions.note(told);
    for (const fact of facts) this.#history.note(row.session_id, fact);
    if (told.spent !== null) this.#spend.note(row.session_id, told.spent);
  }

  /** Notes lost events at the newest free number after the session's last one, or at their own. */
  #lose(
    { session_id, from, to, after, at }: { session_id: string; from: number; to: number; after: number; at: string },
    wanted?: number,
  ): void {
    const gseq = this.#takeFree(after, wanted);
    if (gseq !== null) {
      this.#sql.lose.run(gseq, session_id, from, to, at);
      this.#places.push({ gseq, count: to - from + 1 });
    }
    if (this.#sql.wasLost.get(session_id, from, to) !== undefined) return;
    this.#lost.set(session_id, (this.#lost.get(session_id) ?? 0) + to - from + 1);
  }

  #skipTo(gseq: number): void {
    if (gseq > this.#last + 1) this.#free.push([this.#last + 1, gseq - 1]);
    if (this.#free.length > mostRuns) this.#free.shift();
  }

  #takeFree(after: number, wanted: number | undefined): number | null {
    const own = this.#free.findIndex(([from, to]) => wanted !== undefined && from <= wanted && wanted <= to);
    if (own !== -1 && wanted !== undefined) {
      const [from, to] = this.#free[own]!;
      const rest: [number, number][] = [[from, wanted - 1], [wanted + 1, to]];
      this.#free.splice(own, 1, ...rest.filter(([one, other]) => one <= other));
      return wanted;
    }
    const run = this.#free.at(-1);
    if (run === undefined || run[1] <= after) return null;
    const taken = run[1]--;
    if (run[0] > run[1]) this.#free.pop();
    return taken;
  }
}

/** Free runs that are remembered. */
const mostRuns = 10_000;

interface WasSession {
  session_id: string;
  state: number;
  last_seq: number | null;
  last_gseq: number;
  started_at: string;
  ended_at: string | null;
}

function prepared(database: SqliteFile) {
  const was = "SELECT session_id, state, last_seq, last_gseq, started_at, ended_at FROM was_session";
  const columns = sessionColumns.join(", ");
  const kept = sessionColumns.map((name) => name === "state" ? "0 AS state" : name).join(", ");
  return {
    was: database.prepare(`${was} WHERE session_id = ?`),
    nextWas: database.prepare(`${was} WHERE session_id > ? ORDER BY session_id LIMIT 1`),
    deleted: database.prepare("SELECT number FROM link WHERE session_id = ? AND kind = 'deleted'"),
    keep: database.prepare(
      `INSERT OR IGNORE INTO session (${columns}) SELECT ${kept} FROM was_session WHERE session_id = ?`,
    ),
    wasLost: database.prepare(
      "SELECT 1 AS one FROM was_lost_event WHERE session_id = ? AND from_seq = ? AND to_seq = ?",
    ),
    lose: database.prepare("INSERT OR IGNORE INTO lost_event VALUES (?, ?, ?, ?, ?)"),
  };
}
