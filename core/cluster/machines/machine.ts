import type {
  ConversationReport,
  ForkRequest,
  MessageReport,
  MessageState,
  NewMessage,
  RewindReport,
  RewindRequest,
  SaidMessage,
  TurnDiff,
} from "../../../plugin-sdk/conversation.ts";
import type { HeldDecision, SessionHeld, SettledHeld } from "../../../plugin-sdk/held.ts";
import type { Part } from "../../../plugin-sdk/messages.ts";
import type { ListedFacts, WaitingRequest } from "../../../plugin-sdk/session-summary.ts";
import type { AppliedWorkspace, Workspace } from "../../../plugin-sdk/workspace.ts";
import type { Admission, WantedSession } from "./admissions.ts";

/** An agent that a machine offers to the others. */
export interface OfferedAgent {
  id: string;
  version: string;
  /** Digest of the plugin's code; null where it cannot be told, which is the same as no other. */
  sha256: string | null;
}

/** Facts that a machine tells with each heartbeat. */
export interface MachineFacts {
  name: string;
  /** Differs for each start. */
  run: string;
  version: string;
  runtime: string;
  /** RFC 3339, UTC, by this machine's own clock. */
  started_at: string;
  said_at: string;
  labels: Record<string, string>;
  agents: OfferedAgent[];
  /** Sessions that run or wait, and the most that it takes. */
  sessions: number;
  slots: number;
  /** How far its own log is. */
  seq: number;
  gseq: number;
  /** How far its copies of the others' logs are, by machine: `gseq`. */
  copies: Record<string, number>;
  /** Whether it takes images and files from other machines. Absent: a version that does not. */
  attachments?: boolean;
  /** Whether it takes no more sessions; the others still run. */
  leaving: boolean;
  /** True for its last words. */
  gone: boolean;
}

/** Questions that machines ask one another, and what is answered. */
export interface MachineCalls {
  interrupt: { ask: { session_id: string }; answer: null };
  answer: { ask: { session_id: string; request_id: string; choice: string | null }; answer: boolean };
  delete: { ask: { session_id: string }; answer: null };
  /** Requests that wait for an answer, by session. */
  waiting: { ask: Record<string, never>; answer: Record<string, WaitingRequest[]> };
  /** The live facts of each running session. */
  facts: { ask: Record<string, never>; answer: Record<string, ListedFacts> };
  /** Gives back slots for sessions that the machine does not use; answers with the number of the note that reports it. */
  spare: { ask: Record<string, never>; answer: number };
  worktrees: { ask: Record<string, never>; answer: Workspace[] };
  /** Puts the present diff of a session's worktree where every machine can read it. */
  diff: { ask: { session_id: string }; answer: null };
  apply: { ask: { session_id: string; allow_links: boolean; with_held: string[] }; answer: AppliedWorkspace };
  /** Changes of the machine's sessions that wait for a person's word. */
  held: { ask: Record<string, never>; answer: SessionHeld[] };
  settle_held: { ask: { session_id: string } & HeldDecision; answer: SettledHeld };
  discard: { ask: { session_id: string }; answer: null };
  /** Gives a conversation a message: to its session that runs. */
  say: { ask: { session_id: string; message: NewMessage; client: string }; answer: SaidMessage };
  messages: { ask: { session_id: string; state: MessageState | null }; answer: MessageReport[] };
  /** Changes a message that waits; null takes it back. */
  change_message: {
    ask: { session_id: string; message_id: string; content: Part[] | null };
    answer: MessageReport;
  };
  rewind: {
    ask: { session_id: string; rewind: RewindRequest; client: string; admitted: Admission | null };
    answer: RewindReport | WantedSession;
  };
  fork: {
    ask: { session_id: string; fork: ForkRequest; client: string; admitted: Admission | null };
    answer: { session_id: string } | WantedSession;
  };
  turn_diff: { ask: { session_id: string; turn: number }; answer: TurnDiff };
  stop_turn: { ask: { session_id: string; drop_pending: boolean }; answer: null };
  conversation: { ask: { session_id: string }; answer: ConversationReport };
}

/** A question's name. */
export type CallName = keyof MachineCalls;
