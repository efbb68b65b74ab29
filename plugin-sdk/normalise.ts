import type { AdapterEvent, AdapterEventType } from "./events.ts";

/** Kind of an event, independent of the agent. */
export type NeutralKind = "reasoning" | "tool-call" | "tool-result" | "output";

/** The neutral kind of each event type; null for events that steer or report and have no content. */
export const neutralKinds: { readonly [T in AdapterEventType]: NeutralKind | null } = {
  output: "output",
  thinking: "reasoning",
  tool_call: "tool-call",
  tool_result: "tool-result",
  file_change: null,
  progress: null,
  plan: null,
  usage: null,
  permission_request: null,
  question: null,
  request_withdrawn: null,
  message: null,
  turn_began: null,
  agent_started: null,
  agent_ended: null,
  rate_limit: null,
  agent_info: null,
  unparsed: null,
  completed: null,
  error: null,
};

/** Returns the provider-neutral kind of an event, or null for a control event. */
export function neutralKind(event: AdapterEvent): NeutralKind | null {
  return neutralKinds[event.type];
}
