import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { SessionRecord } from "./session-record.ts";

/** A tombstone as readers see it. */
export type Tombstone = Pick<SessionRecord, "session_id" | "last_gseq" | "last_seq" | "adapter_id"> & {
  deleted: NonNullable<SessionRecord["deleted"]>;
};

/** Event that replaces a deleted session's events in a stream, at the place of the last one. */
export function gapOf({ session_id, last_gseq, last_seq, adapter_id, deleted }: Tombstone): Envelope {
  return {
    v: 1,
    seq: last_seq,
    gseq: last_gseq,
    ts: deleted.at,
    session_id,
    attempt: 1,
    adapter: { id: adapter_id ?? "", version: "" },
    source: "host",
    synthetic: true,
    event: { type: "gap", from_seq: 1, to_seq: last_seq },
  };
}

/** Events of a session that a damaged journal has lost, at a number that one of them had. */
export interface LostRange {
  gseq: number;
  session_id: string;
  from_seq: number;
  to_seq: number;
  at: string;
  adapter_id: string | null;
}

/** Event that replaces lost events. */
export function gapOfLost({ gseq, session_id, from_seq, to_seq, at, adapter_id }: LostRange): Envelope {
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
    event: { type: "gap", from_seq, to_seq, damaged: true },
  };
}
