import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { SessionRecord } from "./session-record.ts";

/** A tombstone as readers see it. */
export type Tombstone = Pick<SessionRecord, "session_id" | "last_gseq" | "last_seq" | "adapter_id"> & {
  deleted: NonNullable<SessionRecord["deleted"]>;
};

/** Events of a session that a damaged journal has lost, at a number that one of them had. */
export interface LostRange {
  gseq: number;
  session_id: string;
  from_seq: number;
  to_seq: number;
  at: string;
  adapter_id: string | null;
}

/** Event that replaces a deleted session's events in a stream, at the place of the last one. */
export function gapOf({ deleted: { at }, last_seq, last_gseq, ...tombstone }: Tombstone): Envelope {
  return gapAt({ ...tombstone, at, gseq: last_gseq, from_seq: 1, to_seq: last_seq });
}

/** Event that replaces lost events. */
export function gapOfLost(lost: LostRange): Envelope {
  return gapAt(lost, { damaged: true });
}

function gapAt(
  { gseq, session_id, from_seq, to_seq, at, adapter_id }: LostRange,
  terms: { damaged?: true } = {},
): Envelope {
  return {
    v: 1,
    seq: to_seq,
    gseq,
    ts: at,
    session_id,
    attempt: 1,
    adapter: { id: adapter_id ?? "", version: "" },
    source: "host",
    synthetic: true,
    event: { type: "gap", from_seq, to_seq, ...terms },
  };
}
