import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { PermissionRequestEvent } from "../../../plugin-sdk/events.ts";
import { eventText } from "../../records/history/event-text.ts";

/** Kinds of places in which words are found, as a person looks for them. */
export const searchKinds = ["files", "said", "commands", "denied"] as const;

/** A member of {@link searchKinds}. */
type SearchKind = typeof searchKinds[number];

/** Returns the kind of an event in which words were found; null for one that is of none. */
export function searchKindOf(event: Envelope["event"]): SearchKind | null {
  switch (event.type) {
    case "file_change":
    case "artifacts":
    case "git":
      return "files";
    case "tool_call":
      if (["edit", "delete", "move"].includes(event.kind)) return "files";
      return event.kind === "execute" ? "commands" : null;
    case "output":
    case "thinking":
    case "completed":
    case "session_started":
    case "turn_started":
    case "message_accepted":
    case "question":
      return "said";
    case "permission_request":
      return event.kind === "execute" ? "commands" : null;
    case "capability":
      return event.decision === "denied" && event.needed !== false ? "denied" : null;
    default:
      return null;
  }
}

/** Returns the text of an event that a person reads, where the text by which it is found has fields of no interest. */
export function shownText(event: Envelope["event"]): string {
  switch (event.type) {
    case "file_change":
      return `${event.action} ${event.path}`;
    case "artifacts":
      return (event.artifacts ?? []).map(({ path }) => path).join("\n");
    case "capability":
      return `${event.permission} ${event.target}`;
    case "permission_request":
      return joined([event.title, askedOf(event), ...event.options.map(({ label }) => label)]);
    case "question":
      return joined([event.question, ...event.options ?? []]);
    default:
      return eventText(event);
  }
}

/** Returns the tool and its input; empty where the request's title says them. */
function askedOf(event: PermissionRequestEvent): string {
  const { tool, title } = event;
  const input = eventText({ ...event, tool: "", title: "", options: [] }).trim();
  return title.includes(input || tool) ? "" : `${tool} ${input}`.trim();
}

function joined(parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(" · ");
}
