import { type AdapterEvent, type JsonFields, numberOf, objectsOf, textOf } from "bulkhead/plugin-sdk";

/** The events of a `system` message; null for one of an unknown kind. */
export function systemEvents(message: JsonFields): AdapterEvent[] | null {
  switch (message["subtype"]) {
    case "status":
      return progress(textOf(message["status"]));
    case "thinking_tokens":
      // The one sign of life of a model that thinks and does not show it.
      return [thinkingEvent(numberOf(message["estimated_tokens"]))];
    case "api_retry":
      return [retryEvent(message)];
    case "permission_denied":
      return progress(textOf(message["message"]) ?? "A tool was denied by the agent's own settings.");
    case "informational":
      return progress(textOf(message["content"]));
    case "model_refusal_no_fallback":
      return progress("The model refused.");
    case "compact_boundary":
      return progress("The conversation was shortened.");
    case "hook_started":
    case "hook_progress":
    case "hook_response":
      return progress(`hook ${textOf(message["hook_name"]) ?? ""}`.trim());
    case "background_tasks_changed": {
      const names = objectsOf(message["tasks"]).map((task) => textOf(task["description"]) ?? "a task");
      return progress(
        names.length === 0 ? "Nothing runs in the background." : `In the background: ${names.join(", ")}.`,
      );
    }
    case "task_started":
    case "task_progress":
    case "task_notification":
    case "task_updated":
      return progress(textOf(message["summary"]) ?? textOf(message["description"]) ?? "A task goes on.");
    default:
      return null;
  }
}

function progress(message: string | undefined): AdapterEvent[] {
  return message === undefined ? [] : [{ type: "progress", message }];
}

/** Has no text, so that it comes between the pieces of a thought without parting them. */
function thinkingEvent(tokens: number | null | undefined): AdapterEvent {
  const isCount = typeof tokens === "number" && Number.isSafeInteger(tokens) && tokens >= 0;
  return { type: "thinking", content: "", ...(isCount ? { tokens_used: tokens } : {}) };
}

function retryEvent(message: JsonFields): AdapterEvent {
  const [attempt, most, wait, status] = ["attempt", "max_retries", "retry_delay_ms", "error_status"].map((key) =>
    numberOf(message[key])
  );
  const what = `${textOf(message["error"]) ?? "error"}${status === null ? "" : ` (${status})`}`;
  const said = `${what}: the agent tries again, ${attempt ?? "?"} of ${most ?? "?"}`;
  if (message["error"] === "rate_limit") return { type: "rate_limit", message: said, wait_ms: wait ?? null };
  return { type: "progress", message: said };
}
