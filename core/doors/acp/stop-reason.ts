import type { StopReason as AcpStopReason } from "@agentclientprotocol/sdk";
import type { SessionResult, StopReason } from "../../../plugin-sdk/result.ts";

/** What ends a prompt with an answer; what is not here ends it with an error. */
const stopReasons: { readonly [R in StopReason]?: AcpStopReason } = {
  end_turn: "end_turn",
  loop_complete: "end_turn",
  // The agent waits for what nobody said, which the client shows; its next prompt may say it.
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

/** What of a result travels with the answer to a prompt: all but what the updates have told already. */
export function resultMeta(result: SessionResult): { bulkhead: Partial<SessionResult> } {
  const { events: _, ...told } = result;
  return { bulkhead: told };
}
