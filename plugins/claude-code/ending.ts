import {
  type AdapterEvent,
  type ErrorCode,
  type JsonFields,
  numberOf,
  RateLimitDetector,
  textOf,
} from "bulkhead/plugin-sdk";
import type { SessionCounts } from "./usage.ts";

/** Facts that the program reported before its result. */
interface Seen {
  /** Its own word for the kind of failure, such as `authentication_failed`. */
  kind: string | null;
  /** When the plan's limit that was hit ends; milliseconds since 1970. */
  limitEndsAt: number | null;
  filesChanged: readonly string[];
  counts: SessionCounts;
}

/** Meaning of the program's own word for a failure: a code of the host or a word of this adapter. */
type FailureCode =
  | ErrorCode
  | "refused"
  | "output_limit"
  | "context_overflow"
  | "max_turns"
  | "max_budget"
  | "agent_error";

const limits = new RateLimitDetector();
const retryable: readonly FailureCode[] = ["rate_limit", "unavailable"];

/** Reasons for which the model stops before its answer is whole. */
const stops: ReadonlyMap<unknown, [code: FailureCode, message: string]> = new Map([
  ["max_tokens", ["output_limit", "The answer was cut at the model's limit of tokens."]],
  ["model_context_window_exceeded", ["context_overflow", "The answer was cut: the model's context is full."]],
  ["pause_turn", ["unavailable", "The agent's turn broke off: its model paused and did not go on."]],
]);

/** The program's result: what it used, and its last word. That it says `success` means nothing beside `is_error`. */
export function endingEvents(result: JsonFields, seen: Seen): AdapterEvent[] {
  const usage = seen.counts.take(result);
  const errors = Array.isArray(result["errors"]) ? result["errors"].map(String).join("\n") : "";
  const text = textOf(result["result"]) ?? errors;
  const tokens = usage.tokens_in === null && usage.tokens_out === null
    ? null
    : (usage.tokens_in ?? 0) + (usage.tokens_out ?? 0);
  const refused = result["stop_reason"] === "refusal";
  // The model called a tool, and the turn ended without it: the model's answer broke off.
  const cut = result["stop_reason"] === "tool_use" && text.trim() === "";
  if (result["is_error"] !== true && result["subtype"] === "success" && cut) {
    const message = "The agent's turn broke off in the middle: it called a tool and never went on.";
    return [usage, { type: "error", code: "unavailable", message, recoverable: true }];
  }
  const stop = stops.get(result["stop_reason"]);
  if (result["is_error"] !== true && result["subtype"] === "success" && stop !== undefined) {
    const [code, message] = stop;
    return [usage, { type: "error", code, message, recoverable: retryable.includes(code) }];
  }
  if (result["is_error"] !== true && result["subtype"] === "success" && !refused) {
    const files_changed = [...seen.filesChanged];
    const { structured_output } = result;
    return [usage, {
      type: "completed",
      success: true,
      ...(structured_output === undefined ? {} : { structured_output }),
      output: text,
      files_changed,
      tokens_used: tokens,
      cost: usage.cost,
    }];
  }
  const code = failureCode(result, { seen, text, refused });
  const message = code === "interrupted"
    ? "The agent was interrupted."
    : text === ""
    ? `The agent failed: ${textOf(result["subtype"]) ?? "it does not say why"}.`
    : text;
  const last: AdapterEvent = { type: "error", code, message, recoverable: retryable.includes(code) };
  const { limitEndsAt } = seen;
  if (code !== "rate_limit" || limitEndsAt === null) return [usage, last];
  const wait_ms = Math.max(0, limitEndsAt - Date.now());
  return [usage, { type: "rate_limit", message, wait_ms, reset_at: new Date(limitEndsAt).toISOString() }, last];
}

function failureCode(
  result: JsonFields,
  { seen, text, refused }: { seen: Seen; text: string; refused: boolean },
): FailureCode {
  const reason = textOf(result["terminal_reason"]) ?? "";
  const status = numberOf(result["api_error_status"]) ?? 0;
  const { kind } = seen;
  if (refused || /violate our Usage Policy/i.test(text)) return "refused";
  if (reason.startsWith("aborted")) return "interrupted";
  if (result["subtype"] === "error_max_turns") return "max_turns";
  if (result["subtype"] === "error_max_budget_usd") return "max_budget";
  if (result["subtype"] === "error_max_structured_output_retries") return "output_invalid";
  if (/^No conversation found/.test(text)) return "not_found";
  if (reason === "prompt_too_long" || /^Prompt is too long/i.test(text)) return "context_overflow";
  // Versions without the word, and gateways, say it in the text alone.
  if (status === 429 || kind === "rate_limit" || limits.detect(text)) return "rate_limit";
  if (status === 401 || status === 403 || kind === "authentication_failed" || kind === "billing_error") {
    return "unavailable";
  }
  if (kind === "model_not_found" || status === 404) return "invalid_model";
  if (status >= 500 || kind === "server_error" || kind === "overloaded") return "unavailable";
  return "agent_error";
}
