import type { HeldDecision, SessionHeld, SettledHeld } from "../../../plugin-sdk/held.ts";
import type { WaitingRequest } from "../../../plugin-sdk/session-summary.ts";
import type { AppliedWorkspace, Workspace } from "../../../plugin-sdk/workspace.ts";

/** Questions that machines ask one another, and what is answered. */
export interface MachineCalls {
  interrupt: { ask: { session_id: string }; answer: null };
  answer: { ask: { session_id: string; request_id: string; choice: string }; answer: boolean };
  delete: { ask: { session_id: string }; answer: null };
  /** Requests that wait for an answer, by session. */
  waiting: { ask: Record<string, never>; answer: Record<string, WaitingRequest[]> };
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
}

/** A question's name. */
export type CallName = keyof MachineCalls;
