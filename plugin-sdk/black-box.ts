/** Calls of models that a session recorded. */
export interface WireRecordReport {
  calls: number;
  bytes: number;
  /** Why calls are missing, so that it cannot be replayed. Absent: it has all. */
  incomplete?: string;
}

/** The first call of a replay that was not recorded. */
export interface WireDrift {
  /** Number of the call in the replay. */
  call: number;
  /** Method and path of the call. */
  line: string;
  /** The recorded call that is most like it; null where none is left. */
  recorded_call: number | null;
  /** Place of the first difference in its body; null without a call to compare. */
  place: string | null;
  /** Lines as `diff -u` has them, of both calls without what may differ. */
  difference: string;
}

/** Outcome of a replay. */
export interface ReplayReport {
  /** The session that was replayed. */
  of: string;
  /** Calls of the record, those that the program made, and those of them that were answered from it. */
  recorded: number;
  made: number;
  served: number;
  /** Recorded calls that the program did not make. */
  left: number;
  drift?: WireDrift;
  /** Whether the files at its end are those of the recorded session. */
  tree: "same" | "different" | "unknown";
}
