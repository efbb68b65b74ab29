import type { Artifact } from "../../../plugin-sdk/result.ts";
import { nextTurn } from "../../ground/platform/engine/next-turn.ts";
import type { Journal } from "./journal.ts";
import type { SessionRecord } from "./session-record.ts";

type Lines = NonNullable<Artifact["lines"]>;

/** How long a list waits for lines that were not read before. Milliseconds. */
const defaultAtMostMs = 1000;
/** Sessions whose lines are kept, at some hundred bytes each. */
const defaultMost = 10_000;

/**
 * Knows the lines that ended sessions have changed. They stand in a session's last event alone, which is read when a list
 * first shows the session; of one that has ended they never change.
 */
export class EndedLines {
  readonly #atMostMs: number;
  readonly #most: number;
  /** By session, the first read first; null: git counted none. */
  readonly #known = new Map<string, Lines | null>();

  constructor({ atMostMs = defaultAtMostMs, most = defaultMost }: { atMostMs?: number; most?: number } = {}) {
    this.#atMostMs = atMostMs;
    this.#most = most;
  }

  /**
   * Returns the lines of those that changed some, by session. A list that takes too long is left without the rest: each
   * call reads at least one more.
   * @throws {BulkheadError} `journal_error`
   */
  async of(journal: Pick<Journal, "read">, records: readonly SessionRecord[]): Promise<ReadonlyMap<string, Lines>> {
    const found = new Map<string, Lines>();
    const began = performance.now();
    let isLate = false;
    for (const record of records) {
      const { session_id, state } = record;
      if (state !== "ended" || (isLate && !this.#known.has(session_id))) continue;
      if (!this.#known.has(session_id)) {
        await this.#read(journal, record);
        isLate = performance.now() - began >= this.#atMostMs;
      }
      const lines = this.#known.get(session_id) ?? null;
      if (lines !== null) found.set(session_id, lines);
    }
    return found;
  }

  async #read(journal: Pick<Journal, "read">, { session_id, last_gseq }: SessionRecord): Promise<void> {
    await nextTurn();
    const last = { after: last_gseq - 1, sessionId: session_id, limit: 1, skipDamaged: true };
    const event = (await journal.read(last))[0]?.event;
    // The end of one that has just ended may not be written yet.
    if (event?.type !== "session_ended") return;
    this.#known.set(session_id, sumOf(event.result.artifacts ?? []));
    const [oldest] = this.#known.keys();
    if (this.#known.size > this.#most && oldest !== undefined) this.#known.delete(oldest);
  }
}

function sumOf(artifacts: readonly Artifact[]): Lines | null {
  const all = artifacts.flatMap(({ lines }) => lines ?? []);
  if (all.length === 0) return null;
  return { added: sum(all.map(({ added }) => added)), removed: sum(all.map(({ removed }) => removed)) };
}

function sum(counts: readonly number[]): number {
  return counts.reduce((before, count) => before + count, 0);
}
