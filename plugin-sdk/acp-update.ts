import type { AdapterEvent, AdapterEventType, PlanEntry, ToolCallEvent, ToolResultEvent } from "./events.ts";

/** A text block of the Agent Client Protocol. */
export interface AcpText {
  type: "text";
  text: string;
}

/**
 * The `update` of a `session/update` notification of the Agent Client Protocol, version 1, as far as adapter events
 * need it (agentclientprotocol.com, "Prompt Turn", "Tool Calls", "Agent Plan"). Its keys are those of the protocol.
 */
export type AcpUpdate =
  | { sessionUpdate: "agent_message_chunk" | "agent_thought_chunk"; content: AcpText }
  | {
    sessionUpdate: "tool_call";
    toolCallId: string;
    title: string;
    kind: ToolCallEvent["kind"];
    status: "in_progress";
    rawInput: unknown;
  }
  | {
    sessionUpdate: "tool_call_update";
    toolCallId: string;
    status: "completed" | "failed";
    content?: { type: "content"; content: AcpText }[];
    rawOutput: unknown;
  }
  | { sessionUpdate: "plan"; entries: (PlanEntry & { priority: "high" | "medium" | "low" })[] };

type AcpMapping = {
  readonly [T in AdapterEventType]: ((event: Extract<AdapterEvent, { type: T }>) => AcpUpdate | null) | null;
};

// Null: the protocol sends it in another way (a separate request, or the answer to the prompt), or not at all.
const acpMapping: AcpMapping = {
  output: (event) => (event.stream === "stdout" ? chunk("agent_message_chunk", event.data) : null),
  thinking: (event) => chunk("agent_thought_chunk", event.content),
  tool_call: (event) => ({
    sessionUpdate: "tool_call",
    toolCallId: event.call_id,
    title: event.tool,
    kind: event.kind,
    status: "in_progress",
    rawInput: event.input,
  }),
  tool_result: toolCallUpdate,
  plan: (event) => ({
    sessionUpdate: "plan",
    entries: event.entries.map((entry) => ({ ...entry, priority: entry.priority ?? "medium" })),
  }),
  file_change: null,
  progress: null,
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

/** Returns the event as an update of the Agent Client Protocol, or null if the protocol has no update for it. */
export function toAcpUpdate(event: AdapterEvent): AcpUpdate | null {
  // The table's key is the event's tag, which TypeScript cannot express for a look-up by union.
  const map = acpMapping[event.type] as ((event: AdapterEvent) => AcpUpdate | null) | null;
  return map === null ? null : map(event);
}

function chunk(sessionUpdate: "agent_message_chunk" | "agent_thought_chunk", text: string): AcpUpdate {
  return { sessionUpdate, content: { type: "text", text } };
}

function toolCallUpdate(event: ToolResultEvent): AcpUpdate {
  return {
    sessionUpdate: "tool_call_update",
    toolCallId: event.call_id,
    status: event.success ? "completed" : "failed",
    ...(typeof event.output === "string"
      ? { content: [{ type: "content", content: { type: "text", text: event.output } }] }
      : {}),
    rawOutput: event.output,
  };
}
