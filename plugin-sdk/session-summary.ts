import type { Outcome, StopReason } from "./result.ts";

/** Where a session stands. */
export type SessionState = "running" | "ended";

/** What a running session waits for a client to answer. */
export interface WaitingRequest {
  request_id: string;
  type: "permission_request" | "question";
  /** The question, as the agent put it. */
  text: string;
  /** The choices it offers; empty where any text will do. */
  choices: string[];
  /**
   * The text is shortened, or choices are left out: a summary shows at most 4,096 characters of what its session waits
   * for. The request's event has all of it.
   */
  cut?: true;
}

/** One session in a list: what is known without reading its events. */
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
  /** What waits for an answer; empty for what has ended. */
  waiting: WaitingRequest[];
}
