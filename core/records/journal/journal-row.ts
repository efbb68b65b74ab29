import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { EventPacker, unpackEvents } from "../../ground/checks/packed-events.ts";
import { factOf, type HistoryFact } from "./history-fact.ts";
import type { Cursor, JournalBatch } from "./journal.ts";
import { endingOf, openingOf, type SessionEnding, type SessionOpening } from "./session-record.ts";
import { type Spent, spentOf } from "./spend-table.ts";

/** One batch as stored in a journal. */
export interface JournalRow {
  session_id: string;
  first_seq: number;
  last_seq: number;
  first_gseq: number;
  last_gseq: number;
  count: number;
  /** Content of the session's first event; null where the batch lacks it. */
  opening: SessionOpening | null;
  /** Adapter of the last attempt that begins in the batch; null where none begins. */
  adapter_id: string | null;
  /** The last turn that begins in the batch; null where none begins. */
  turn: number | null;
  /** Content of the session's last event; null where the batch lacks it. */
  ending: SessionEnding | null;
  /** Usage of the session; null where the batch lacks its last event. */
  spent: Spent | null;
  facts: readonly HistoryFact[];
  /** The envelopes as JSON: a list of runs, see {@link rowOf}. */
  body: string;
}

/**
 * Envelopes that differ only in their events and in their numbers, which rise by one. `seq` and `gseq` are those of the
 * first. Nearly all envelopes of a busy session stand in long runs, so that little more than the events is written: a
 * third of the bytes and of the time. The list is packed: see {@link EventPacker}.
 */
type Run = Omit<Envelope, "event"> & { events: Envelope["event"][] };

/**
 * Makes a row from a batch.
 * @param after highest `gseq` appended so far
 * @returns null for a batch without envelopes
 * @throws {BulkheadError} `journal_error` when the batch does not continue the journal
 */
export function rowOf(batch: JournalBatch, after: Cursor): JournalRow | null {
  const { session_id, envelopes } = batch;
  const first = envelopes[0];
  const last = envelopes.at(-1);
  if (first === undefined || last === undefined) return null;
  const { runs, facts, adapter_id, turn } = gatherRuns(batch, after);
  return {
    session_id,
    first_seq: first.seq,
    last_seq: last.seq,
    first_gseq: first.gseq,
    last_gseq: last.gseq,
    count: envelopes.length,
    opening: first.seq === 1 ? openingOf(first) : null,
    adapter_id,
    turn,
    ending: endingOf(last),
    spent: spentOf(last),
    facts,
    body: `[${runs.map(textOf).join(",")}]`,
  };
}

/** Puts envelopes into runs and finds their facts, in one pass. */
function gatherRuns(
  { session_id, envelopes, texts = [] }: JournalBatch,
  after: Cursor,
): Pick<JournalRow, "facts" | "adapter_id" | "turn"> & { runs: WrittenRun[] } {
  const runs: WrittenRun[] = [];
  let run: WrittenRun | null = null;
  let previous = after;
  let known = 0;
  let adapter_id: string | null = null;
  let turn: number | null = null;
  const facts: HistoryFact[] = [];
  const packer = new EventPacker();
  for (let at = 0; at < envelopes.length;) {
    const envelope = envelopes[at]!;
    const given = texts[known]?.at === at ? texts[known++]! : null;
    const count = given?.count ?? 1;
    for (let each = at; each < at + count; each++) {
      const one = envelopes[each]!;
      if (!(one.gseq > previous) || one.session_id !== session_id) throw orderError(one, { session_id, previous });
      previous = one.gseq;
    }
    // Only an agent's events come with their text, and they hold no facts.
    const fact = given === null ? factOf(envelope) : null;
    if (fact !== null) facts.push(fact);
    if (fact?.what === "attempt") adapter_id = fact.row.adapter_id;
    if (fact?.what === "turn") turn = fact.turn;
    if (run === null || !continues(run, envelope)) {
      runs.push(run = beginRun(envelope));
      packer.restart();
    }
    run.parts.push(given === null ? packer.event(envelope.event) : given.text.slice(1, -1));
    if (given !== null) packer.restart();
    run.count += count;
    at += count;
  }
  return { runs, facts, adapter_id, turn };
}

/**
 * The envelopes of a row's body after a cursor.
 * @throws {Error} for a body that `rowOf` did not write
 */
export function envelopesAfter(body: string, after: Cursor): Envelope[] {
  const envelopes: Envelope[] = [];
  for (const { events, seq, gseq, v, ...rest } of runsOf(body)) {
    unpackEvents(events);
    for (let at = Math.max(0, after - gseq + 1); at < events.length; at++) {
      envelopes.push({ v, seq: seq + at, gseq: gseq + at, ...rest, event: events[at]! });
    }
  }
  return envelopes;
}

function runsOf(body: string): Run[] {
  const runs: unknown = JSON.parse(body);
  if (Array.isArray(runs) && runs.every(isRun)) return runs;
  throw new TypeError("an entry is damaged");
}

/** Checks enough for the numbers to be right; the events were checked before they were written. */
function isRun(value: unknown): value is Run {
  return typeof value === "object" && value !== null && "events" in value && Array.isArray(value.events) &&
    "seq" in value && Number.isSafeInteger(value.seq) && "gseq" in value && Number.isSafeInteger(value.gseq);
}

/** A run on its way into the body: its events as the JSON of a packed list, one or many in each part. */
interface WrittenRun {
  head: Omit<Run, "events">;
  count: number;
  parts: string[];
}

function beginRun({ event: _, ...head }: Envelope): WrittenRun {
  return { head, count: 0, parts: [] };
}

function textOf({ head, parts }: WrittenRun): string {
  return `${JSON.stringify(head).slice(0, -1)},"events":[${parts.join(",")}]}`;
}

/** A field that is not compared here must not differ between the envelopes of one session. */
function continues(
  { head, count }: WrittenRun,
  { v, seq, gseq, ts, attempt, adapter, source, synthetic }: Envelope,
): boolean {
  return seq === head.seq + count && gseq === head.gseq + count && ts === head.ts && source === head.source &&
    synthetic === head.synthetic && attempt === head.attempt && v === head.v && isSame(adapter, head.adapter);
}

function isSame(one: Envelope["adapter"], other: Envelope["adapter"]): boolean {
  return one === other || (one.id === other.id && one.version === other.version);
}

function orderError(
  envelope: Envelope,
  { session_id, previous }: { session_id: string; previous: Cursor },
): BulkheadError {
  return new BulkheadError(
    "journal_error",
    `Cannot append event ${envelope.gseq} of session "${envelope.session_id}" to a batch of session "${session_id}": ` +
      `it must be of that session and come after event ${previous}.`,
  );
}
