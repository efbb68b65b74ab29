import type { CapabilityEvent } from "../../../plugin-sdk/envelope.ts";
import type { SqliteFile } from "../../ground/platform/state/sqlite.ts";

/** A use of a permission, or a denial. */
export interface PermissionUse {
  gseq: number;
  session_id: string;
  seq: number;
  at: string;
  adapter_id: string;
  event: CapabilityEvent;
}

interface SessionThen {
  session_id: string;
  state: "running" | "ended";
  /** Requests that waited for an answer. */
  waiting: number;
}

/** Events to find by their words, and the page of them. */
export interface WordsWanted {
  before: number;
  limit: number;
  /** The agent that said it. */
  adapter?: string | undefined;
  /** Labels that the session must have, all of them. */
  labels?: Readonly<Record<string, string>>;
  /** Whether a session's events may be found; absent: all of them. */
  isShown?: ((sessionId: string) => boolean) | undefined;
}

/** Events that were found, and where to go on; `next` is null when there are no more. */
interface WordsFound {
  found: number[];
  next: number | null;
}

/** Questions to an index. Numbers are `gseq`. */
export interface HistoryQueries {
  /**
   * Numbers of events whose text has all these words, the newest first. Looks at a few thousand of them at most, so that
   * no question takes long: `next` may come with fewer than were asked for.
   */
  findWords(words: string, wanted: WordsWanted): WordsFound;
  /** Uses of permissions, the newest first. */
  uses(filter: UseFilter, page: {
    before: number;
    limit: number;
  }): PermissionUse[];
  /** Sessions that had begun by a number, the newest first. */
  sessionsAt(gseq: number, limit: number): SessionThen[];
  countsAt(gseq: number): { running: number; ended: number; waiting: number };
  /** The number of the last event not after a time; null before the first. */
  numberAt(time: string): number | null;
  /** The time of the first event at or after a number, as far as it is known. */
  timeAt(gseq: number): string | null;
}

/** Makes a query of a person's words: each as it is, the last one as a beginning. Signs mean nothing to it. */
export function wordQuery(typed: string): string | null {
  const words = typed.split(/[^\p{L}\p{N}_]+/u).filter((word) => word !== "").slice(0, 16);
  if (words.length === 0) return null;
  return words.map((word, index) => `"${word}"${index === words.length - 1 ? "*" : ""}`).join(" ");
}

/** Prepares the questions to an index. */
export function prepareQueries(database: SqliteFile): HistoryQueries {
  const words = database.prepare(
    `SELECT match.gseq, (? IS NULL OR adapter_id = ?) AND ? = (SELECT count(*) FROM json_each(?) AS wanted
        JOIN label ON label.session = document.session AND label.name = wanted.key AND label.value = wanted.value) AS fits,
        session.session_id FROM (SELECT rowid AS gseq FROM words WHERE words MATCH ? AND rowid < ? ORDER BY rowid DESC LIMIT ?) AS match
      LEFT JOIN document ON document.gseq = match.gseq LEFT JOIN session ON session.number = document.session ORDER BY match.gseq DESC`,
  );
  const uses = database.prepare(
    `SELECT use.gseq, session.session_id, seq, at, adapter_id, event FROM use JOIN session ON session.number = use.session
      WHERE use.gseq < ? AND (? IS NULL OR decision = ?) AND (? IS NULL OR adapter_id = ?)
      AND (? IS NULL OR permission = ?) ORDER BY use.gseq DESC LIMIT ?`,
  );
  const then = database.prepare(
    `SELECT session_id, CASE WHEN end_gseq IS NOT NULL AND end_gseq <= ? THEN 'ended' ELSE 'running' END AS state,
      (SELECT count(*) FROM request WHERE request.session = session.number AND request.gseq <= ?
        AND (request.end_gseq IS NULL OR request.end_gseq > ?)) AS waiting
      FROM session WHERE first_gseq <= ? ORDER BY first_gseq DESC LIMIT ?`,
  );
  const counts = database.prepare(
    `SELECT count(*) AS begun, sum(end_gseq IS NOT NULL AND end_gseq <= ?) AS ended,
      (SELECT count(*) FROM request WHERE gseq <= ? AND (end_gseq IS NULL OR end_gseq > ?)) AS waiting
      FROM session WHERE first_gseq <= ?`,
  );
  const numberAt = database.prepare("SELECT gseq FROM tick WHERE at <= ? ORDER BY at DESC, gseq DESC LIMIT 1");
  const timeAt = database.prepare("SELECT at FROM tick WHERE gseq >= ? ORDER BY gseq LIMIT 1");
  return {
    findWords(query, { before, limit, adapter = null, labels = {}, isShown }: WordsFilter) {
      const count = Object.keys(labels).length;
      const most = adapter === null && count === 0 && isShown === undefined ? limit : mostLooked;
      const all = words.all(adapter, adapter, count, JSON.stringify(labels), query, before, most) as Match[];
      const fitting = all.filter((one) => one.fits === 1 && (isShown?.(one.session_id ?? "") ?? true));
      const found = fitting.slice(0, limit).map(({ gseq }) => gseq);
      if (found.length === limit) return { found, next: found.at(-1) ?? null };
      return { found, next: all.length < most ? null : all.at(-1)?.gseq ?? null };
    },
    uses({ decision = null, adapter = null, permission = null }: UseFilter, { before, limit }) {
      const rows = uses.all(before, decision, decision, adapter, adapter, permission, permission, limit);
      return (rows as (Omit<PermissionUse, "event"> & { event: string })[]).map((row) => ({
        ...row,
        event: JSON.parse(row.event) as CapabilityEvent,
      }));
    },
    sessionsAt: (gseq, limit) => then.all(gseq, gseq, gseq, gseq, limit) as SessionThen[],
    countsAt(gseq) {
      const row = counts.get(gseq, gseq, gseq, gseq) as { begun: number; ended: number | null; waiting: number };
      return { running: row.begun - (row.ended ?? 0), ended: row.ended ?? 0, waiting: row.waiting };
    },
    numberAt: (time) => (numberAt.get(time) as { gseq: number } | undefined)?.gseq ?? null,
    timeAt: (gseq) => (timeAt.get(gseq) as { at: string } | undefined)?.at ?? null,
  };
}

/** Matches that one question looks at when it is about an agent, labels or some sessions. */
const mostLooked = 2000;

interface Match {
  gseq: number;
  fits: 0 | 1 | null;
  session_id: string | null;
}

interface WordsFilter extends Omit<WordsWanted, "adapter"> {
  adapter?: string | null | undefined;
}

interface UseFilter {
  decision?: CapabilityEvent["decision"] | null | undefined;
  adapter?: string | null | undefined;
  permission?: string | null | undefined;
}
