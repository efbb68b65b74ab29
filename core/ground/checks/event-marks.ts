import type { Envelope } from "../../../plugin-sdk/envelope.ts";

/** Kinds of events by which a person looks through a session. */
export const eventMarks = ["said", "tools", "edits", "failures", "asked"] as const;

/** A kind of events by which a person looks through a session. */
export type EventMark = typeof eventMarks[number];

const none: readonly EventMark[] = [];

/** Returns what an event is for a person who looks through its session. */
export function marksOf(event: Envelope["event"]): readonly EventMark[] {
  switch (event.type) {
    case "output":
      return event.stream === "stdout" ? ["said"] : none;
    case "session_started":
      return ["said"];
    case "message_delivered":
      return event.how === "injected" ? ["said"] : none;
    case "completed":
      return event.success ? ["said"] : ["said", "failures"];
    case "tool_call":
      return ["edit", "delete", "move"].includes(event.kind) ? ["tools", "edits"] : ["tools"];
    case "tool_result":
      return event.success ? none : ["failures"];
    case "file_change":
      return ["edits"];
    case "permission_request":
    case "question":
      return ["asked"];
    case "capability":
      return event.decision === "denied" && event.needed !== false ? ["failures"] : none;
    case "error":
    case "attempt_failed":
      return ["failures"];
    case "turn_ended":
      return event.outcome === "completed" ? none : ["failures"];
    case "session_ended":
      return event.result.outcome === "completed" ? none : ["failures"];
    default:
      return none;
  }
}
