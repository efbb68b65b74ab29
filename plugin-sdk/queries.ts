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
  /** Words that must all be in its id, prompt, agent, folder, task or labels, as `name=value`. */
  text?: string | undefined;
  /** The last name of its folder's path, which for a worktree is that of its repository. */
  folder?: string | undefined;
  /** Whether a client interrupted it. */
  interrupted?: boolean | undefined;
  /** RFC 3339: began then or later. */
  since?: string | undefined;
  /** RFC 3339: began before. */
  until?: string | undefined;
  /** Adds to each session what it does now, or has cost. */
  facts?: boolean | undefined;
  /** Only sessions that began before this one: the last of the previous page. */
  before?: string | undefined;
  /** Default 50, at most 500. */
  limit?: number | undefined;
}

/** A value that sessions have, and how many of them. */
export interface NamedCount {
  name: string;
  count: number;
}

/** Numbers of the sessions that match a query. Those by a filter leave that filter of the query out. */
export interface SessionCounts {
  /** Sessions that match all of the query. */
  total: number;
  /** By state and outcome; `interrupted` is apart from `error`. */
  states: Record<"running" | "completed" | "blocked" | "error" | "interrupted", number>;
  /** The most frequent first, 100 at most; so are the others. */
  adapters: NamedCount[];
  folders: NamedCount[];
  /** As `name=value`. */
  labels: NamedCount[];
}

/** Start of a stream of events, and its end. */
export interface EventQuery {
  /** For one session its `seq`; for all sessions `gseq`. Default: 0 for a session, the newest for all. */
  after?: number | undefined;
  /** For all sessions of a cluster: the `cursor` of the last event that is known, instead of `after`. */
  cursor?: string | undefined;
  signal?: AbortSignal | undefined;
}
