import type { Envelope } from "../../plugin-sdk/envelope.ts";
import { BulkheadError } from "../../plugin-sdk/errors.ts";
import { createEnvelopeWriter } from "./envelope-text.ts";
import type { Cursor, JournalBatch } from "./journal.ts";

/** One batch as a journal keeps it. */
export interface JournalRow {
  session_id: string;
  first_seq: number;
  last_seq: number;
  first_gseq: number;
  last_gseq: number;
  count: number;
  /** The envelopes, one line of JSON each. */
  body: string;
}

/**
 * A batch as a row.
 * @param after highest `gseq` appended so far
 * @returns null for a batch without envelopes
 * @throws {BulkheadError} `journal_error` when the batch does not continue the journal
 */
export function rowOf({ session_id, envelopes }: JournalBatch, after: Cursor): JournalRow | null {
  const first = envelopes[0];
  const last = envelopes.at(-1);
  if (first === undefined || last === undefined) return null;
  const write = createEnvelopeWriter();
  const lines: string[] = [];
  let previous = after;
  for (const envelope of envelopes) {
    if (!(envelope.gseq > previous) || envelope.session_id !== session_id) {
      throw orderError(envelope, { session_id, previous });
    }
    previous = envelope.gseq;
    lines.push(write(envelope));
  }
  return {
    session_id,
    first_seq: first.seq,
    last_seq: last.seq,
    first_gseq: first.gseq,
    last_gseq: last.gseq,
    count: envelopes.length,
    body: lines.join("\n"),
  };
}

/** The envelopes of a row's body after a cursor. */
export function envelopesAfter(body: string, after: Cursor): Envelope[] {
  // JSON has no bare line end within a value, so one parse does for all lines. What is read, `rowOf` has written.
  const envelopes = JSON.parse(`[${body.replaceAll("\n", ",")}]`) as Envelope[];
  return (envelopes[0]?.gseq ?? 0) > after ? envelopes : envelopes.filter((envelope) => envelope.gseq > after);
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
