import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { rowOf } from "../../records/journal/journal-row.ts";
import type { Journal } from "../../records/journal/journal.ts";
import type { BatchEntry, TermEntry } from "./log-entry.ts";

/** Makes the entry of one session's consecutive envelopes; null for none. */
export function batchEntry(
  session_id: string,
  envelopes: Envelope[],
  texts?: Parameters<typeof rowOf>[0]["texts"],
): BatchEntry | null {
  const row = rowOf({ session_id, envelopes, texts }, 0);
  if (row === null) return null;
  const { first_gseq, last_gseq, body } = row;
  return { kind: "batch", session_id, first_gseq, last_gseq, body };
}

/** Streams what a journal holds after a `gseq`, as entries of a machine's log. */
export async function* heldEntries(
  journal: Pick<Journal, "read">,
  after: number,
): AsyncGenerator<TermEntry, void, void> {
  for await (const run of heldRuns(journal, after)) {
    const { session_id, event } = run[0]!;
    // A deleted session has a gap instead of its events; one of a damaged journal is this machine's own affair.
    if (event.type === "gap" && event.damaged !== true) yield { kind: "delete", session_id, by: "client" };
    const entry = event.type === "gap" ? null : batchEntry(session_id, run);
    if (entry !== null) yield entry;
  }
}

/** Streams what a journal holds after a `gseq`: one session's consecutive envelopes at a time. */
export async function* heldRuns(
  journal: Pick<Journal, "read">,
  after: number,
): AsyncGenerator<Envelope[], void, void> {
  for (let cursor = after;;) {
    const page = await journal.read({ after: cursor, skipDamaged: true });
    if (page.length === 0) return;
    cursor = page.at(-1)!.gseq;
    yield* runsOf(page);
  }
}

/** Splits envelopes where another session's begin, or a gap stands. */
function runsOf(page: readonly Envelope[]): Envelope[][] {
  const runs: Envelope[][] = [];
  for (const envelope of page) {
    const last = runs.at(-1)?.at(-1);
    const goesOn = last?.session_id === envelope.session_id && last.event.type !== "gap" &&
      envelope.event.type !== "gap";
    if (goesOn) runs.at(-1)!.push(envelope);
    else runs.push([envelope]);
  }
  return runs;
}
