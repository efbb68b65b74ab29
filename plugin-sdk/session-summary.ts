import type { Outcome, StopReason } from "./result.ts";

/** State of a session. */
export type SessionState = "running" | "ended";

/** A request of a running session that waits for a client's answer. */
export interface WaitingRequest {
  request_id: string;
  type: "permission_request" | "question";
  /** The question, as the agent put it. */
  text: string;
  /** The choices it offers; empty when any text will do. */
  choices: string[];
  /** RFC 3339, UTC; absent where only the request itself is known. */
  asked_at?: string;
  /** RFC 3339, UTC: the host answers then if no client has; absent: it waits on. */
  answer_by?: string;
  /** The wait that the session's request asked for, where the operator's `limits.answer_timeout_ms` is shorter. */
  answer_cut_from_ms?: number;
  /**
   * The text is shortened, or choices are left out: a summary shows at most 4,096 characters of its session's requests.
   * The request's event has the full text.
   */
  cut?: true;
}

/** The place of a session that waits to start, or to be tried again. */
export interface ListedQueue {
  /** The agent that it waits for. */
  adapter_id: string;
  /** 1 is next. */
  position: number;
  /** RFC 3339, UTC. */
  since: string;
  /** RFC 3339, UTC: it does not start before. */
  retry_at?: string;
  /** One sentence: why it waits, if not for a slot. */
  reason?: string;
}

/** Live facts of a session, for a list that shows it. An ended one has its model, cost and changed lines alone. */
export interface ListedFacts {
  /** The model that its agent named last; absent where it named none. */
  model?: string;
  /** Only while it waits to start. */
  queued?: ListedQueue;
  /** The tool that works, else the step of its plan, else its last tool or sign of life; null before the first. */
  step: { text: string; since: string; is_open: boolean } | null;
  /** RFC 3339, UTC: its newest event; null once it has ended, and where the machine that runs it does not answer. */
  last_event_at: string | null;
  /** Events of each of the last 20 half minutes, the newest last; empty where `last_event_at` is null. */
  beats: number[];
  plan: { done: number; total: number } | null;
  cost: number | null;
  currency: string | null;
  /**
   * Lines that its edits add and take away, null before the first edit. Of an ended session those that git counts in its
   * artifacts: null where git tells none, and in a list that would take too long to read them, until it is asked again.
   */
  lines: { added: number; removed: number } | null;
}

/** One session in a list, with the facts that need no reading of its events. */
export interface SessionSummary {
  session_id: string;
  state: SessionState;
  /** The adapter of the last attempt; null before the first. */
  adapter_id: string | null;
  workdir: string;
  /** The beginning of the prompt, on one line. */
  title: string;
  task_id: string | null;
  labels: Record<string, string>;
  /** RFC 3339, UTC. */
  started_at: string;
  ended_at: string | null;
  outcome: Outcome | null;
  stop_reason: StopReason | null;
  /** `seq` of the newest durable event. */
  last_seq: number;
  /** Requests that wait for an answer; empty for an ended session. */
  waiting: WaitingRequest[];
  /** Id of the first session of its conversation: its own, unless it goes on from another one. */
  conversation_id: string;
  /** The turn that its agent works on, or worked on last; only while the session runs and takes messages. */
  turn?: { number: number; state: "working" | "kept" | "waiting" };
  /** Messages that wait; only where there is a `turn`. */
  pending?: number;
  /** Only where it was asked for. */
  facts?: ListedFacts;
}
