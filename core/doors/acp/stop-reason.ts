import type { StopReason as AcpStopReason } from "@agentclientprotocol/sdk";
import type { SessionResult, StopReason } from "../../../plugin-sdk/result.ts";

/** Stop reasons that answer a prompt; all others end it with an error. */
const stopReasons: { readonly [R in StopReason]?: AcpStopReason } = {
  end_turn: "end_turn",
  loop_complete: "end_turn",
  // The agent waits for an answer, and the client shows its question; the next prompt may give the answer.
  permission_deadline: "end_turn",
  question_deadline: "end_turn",
  refused: "refusal",
  interrupted: "cancelled",
  budget_turns: "max_turn_requests",
  budget_tool_calls: "max_turn_requests",
  budget_tokens: "max_tokens",
};

/** The protocol's stop reason, or null for a failure. */
export function acpStopReason({ stop_reason }: SessionResult): AcpStopReason | null {
  return stopReasons[stop_reason] ?? null;
}

/** Returns the part of a result that goes into a prompt's answer: all but what the updates have told already. */
export function resultMeta(result: SessionResult): { bulkhead: Partial<SessionResult> } {
  const { events: _, ...told } = result;
  return { bulkhead: told };
}
