import type { StopReason as AcpStopReason } from "@agentclientprotocol/sdk";
import type { SessionResult, StopReason } from "../../../plugin-sdk/result.ts";

/** Stop reasons that end a prompt with an answer; any other ends it with an error. */
const stopReasons: { readonly [R in StopReason]?: AcpStopReason } = {
  end_turn: "end_turn",
  loop_complete: "end_turn",
  // The agent waits for an answer that did not come; the client shows the question, and its next prompt may answer it.
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

/** Fields of a result that travel with the answer to a prompt: those that no update has told. */
export function resultMeta(result: SessionResult): { bulkhead: Partial<SessionResult> } {
  const { events: _, ...told } = result;
  return { bulkhead: told };
}
