import type { AgentReport } from "../../../plugin-sdk/agent-report.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { Outcome, SessionResult } from "../../../plugin-sdk/result.ts";
import type { SessionHistory } from "../../../plugin-sdk/session-history.ts";
import type { SessionState, SessionSummary } from "../../../plugin-sdk/session-summary.ts";
import type { AgentsOptions } from "./routes.ts";
import type { RunSessionOptions } from "./run-session.ts";

/** Labels by which a door to a person finds the sessions of a conversation again: who speaks in it, and which it is. */
export const conversationLabelNames = ["door", "acp_session"] as const;

/** Which sessions a list holds, the newest first. */
export interface SessionQuery {
  state?: SessionState;
  outcome?: Outcome;
  adapter?: string;
  /** All of these must be on the session. */
  labels?: Readonly<Record<string, string>>;
  task_id?: string;
  /** Only sessions that began before this one: the last of the page before. */
  before?: string;
  /** Default 50, at most 500. */
  limit?: number;
}

/** Where in a stream of events to begin and when to stop. */
export interface EventQuery {
  /** Of one session: its `seq`; of all sessions: `gseq`. Default: 0 for a session, the newest for all. */
  after?: number;
  signal?: AbortSignal;
}

/** One session as a door sees it, whether it runs, has ended, or belonged to an earlier host of this state folder. */
export interface SessionHandle {
  readonly id: string;
  /** Its events in order; ends after `session_ended`. Of a session that was deleted, or that retention took, one `gap`. */
  events(query?: EventQuery): AsyncIterable<Envelope>;
  /**
   * Resolves when it has ended; never rejects for what happens to the agent.
   * @throws {BulkheadError} `not_found` for a session that was deleted
   */
  result(): Promise<SessionResult>;
  /**
   * Stops it gracefully; of one that has ended, the result.
   * @throws {BulkheadError} `busy` for a session that another host of the state folder runs
   */
  interrupt(): Promise<SessionResult>;
  /**
   * Answers a permission request by one of its choices, or a question by any text; false when it is unknown, answered
   * already, or does not offer the choice.
   */
  answer(requestId: string, choice: string): Promise<boolean>;
}

/**
 * All that a door asks of a host. The host in this process is one, and so is a daemon behind its API: a door does not
 * know which it has.
 */
export interface SessionHost {
  /** @throws {BulkheadError} as `Host.runSession` */
  start(request: SessionRequest, options?: RunSessionOptions): Promise<SessionHandle>;
  list(query?: SessionQuery): Promise<SessionSummary[]>;
  /** @throws {BulkheadError} `not_found`, with `details.deleted_at` and `deleted_by` for a session that was deleted */
  get(sessionId: string): Promise<SessionSummary>;
  /**
   * What it was granted, its attempts and the programs that were started for it.
   * @throws {BulkheadError} as {@link SessionHost.get}
   */
  history(sessionId: string): Promise<SessionHistory>;
  /**
   * The handle of a session, also of one that was deleted: a reader that comes back learns what it has missed.
   * @throws {BulkheadError} `not_found` for a session that was never here
   */
  open(sessionId: string): Promise<SessionHandle>;
  /**
   * Forgets the events of a session that has ended and leaves a tombstone.
   * @throws {BulkheadError} `not_found`, `busy` while it runs
   */
  delete(sessionId: string): Promise<void>;
  agents(options?: AgentsOptions): Promise<AgentReport[]>;
  /**
   * All sessions' events merged.
   * @throws {BulkheadError} `invalid_request` for a number that no event has yet: it is another journal's
   */
  events(query?: EventQuery): AsyncIterable<Envelope>;
}
