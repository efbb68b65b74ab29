import type { Outcome } from "./result.ts";
import type { SessionState } from "./session-summary.ts";

/** Filter and page of a list of sessions, newest first. */
export interface SessionQuery {
  state?: SessionState | undefined;
  outcome?: Outcome | undefined;
  adapter?: string | undefined;
  /** A session must have all of these labels. */
  labels?: Readonly<Record<string, string>> | undefined;
  task_id?: string | undefined;
  /** Only sessions that began before this one: the last of the previous page. */
  before?: string | undefined;
  /** Default 50, at most 500. */
  limit?: number | undefined;
}

/** Start of a stream of events, and its end. */
export interface EventQuery {
  /** For one session its `seq`; for all sessions `gseq`. Default: 0 for a session, the newest for all. */
  after?: number | undefined;
  /** For all sessions of a cluster: the `cursor` of the last event that is known, instead of `after`. */
  cursor?: string | undefined;
  signal?: AbortSignal | undefined;
}
