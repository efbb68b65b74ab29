import { type ErrorEvent, fieldsOrNone, RateLimitDetector, textOf } from "bulkhead/plugin-sdk";
import type { Habits } from "./habits.ts";

type Meaning = [code: string, recoverable: boolean];

/** Kinds of failure that agents name in an error's data. */
const kinds: Readonly<Record<string, Meaning>> = {
  rate_limit: ["rate_limit", true],
  overloaded: ["unavailable", true],
  server_error: ["unavailable", true],
  authentication_failed: ["unavailable", false],
  billing_error: ["unavailable", false],
  max_output_tokens: ["output_limit", false],
};

/** An error of the model's server that says no more. */
const ofModel: Meaning = ["unavailable", false];

/** Names of errors in an error's data: what they mean where the agent's words do not say more. */
const names: Readonly<Record<string, Meaning>> = {
  APIError: ofModel,
};

const unknown: Meaning = ["fatal", false];

const limits = new RateLimitDetector();

/** Signs in what an agent says when it fails, the first that fits counts. */
const signs: readonly [sign: Pick<RegExp, "test">, ...Meaning][] = [
  [/context.?length|context window|(prompt|input) is too long|maximum context/i, "context_overflow", false],
  [{ test: (said) => limits.detect(said) }, "rate_limit", true],
  // Another agent may be able to; this one needs a person first.
  [/\b40[13]\b|unauthori[sz]ed|forbidden|unauthenticated|api key|not logged in|authenticat/i, "unavailable", false],
  [/content.?filter|content polic|usage polic|prohibited.?content/i, "refused", false],
  [/\b5\d\d\b|server.?error|overloaded|high demand/i, "unavailable", true],
  [/connection|socket|network|ECONN|fetch failed|timed? ?out/i, "unavailable", true],
  // Its answer broke off.
  [
    /\bstream (?:disconnected|closed|ended)|\bJSON (?:pars|at position)|pars(?:e|ing) .{0,40}\b(?:chunk|JSON|stream)/i,
    "unavailable",
    true,
  ],
];

/** An agent's answer that is an error. */
export interface AgentFailure {
  code: number;
  message: string;
  data?: unknown;
}

/** Turns an agent's error answer into an event. */
export function failureOf({ code, message, data }: AgentFailure, habits: Habits = {}): ErrorEvent {
  const { details, message: longer, errorKind, errorName } = fieldsOrNone(data);
  const detail = textOf(data) ?? textOf(details) ?? textOf(longer);
  const said = detail === undefined || message.includes(detail) ? message : `${message}: ${detail}`;
  const [meaning, recoverable] = byCode(code) ?? kinds[textOf(errorKind) ?? ""] ?? bySigns(said) ??
    names[textOf(errorName) ?? ""] ?? (habits.names_model_errors && longer !== undefined ? ofModel : unknown);
  return { type: "error", code: meaning, message: said, recoverable };
}

/** Returns the error of a turn that did not end normally; null for one that did. */
export function failureOfStop(reason: unknown, { rejected }: { rejected: boolean }): ErrorEvent | null {
  const said = typeof reason === "string" ? reason.toLowerCase().replaceAll("-", "_") : null;
  switch (said) {
    case null:
      return error("fatal", "The agent ended its turn without saying why.");
    case "end_turn":
      return null;
    case "max_tokens":
      return error("output_limit", "The answer was cut at the model's limit of tokens.");
    case "max_turn_requests":
      return error("turn_limit", "The agent has made as many requests as it may in one turn.");
    case "refusal":
      return error("refused", "The agent refused to go on.");
    case "cancelled":
      if (rejected) return error("refused", "The agent ended its turn: what it asked for was not permitted.");
      return error("cancelled", "The agent says that its turn was cancelled, but the host did not cancel it.");
    default:
      return error(
        "fatal",
        `The agent ended its turn for a reason that is not known: ${said.slice(0, 100)}.`,
      );
  }
}

/** The protocol's own code for a missing login, and those of agents that answer with an HTTP status. */
function byCode(code: number): Meaning | null {
  if (code === -32000 || code === 401 || code === 403) return ["unavailable", false];
  if (code === 429) return ["rate_limit", true];
  return code >= 500 && code < 600 ? ["unavailable", true] : null;
}

/** Reads what a failure means in the agent's words, and where those do not say it, in the HTTP status that it told. */
export function meaningOf(said: string, status?: number | null): Meaning {
  return bySigns(said) ?? byCode(status ?? 0) ?? unknown;
}

function bySigns(said: string): Meaning | null {
  const [, ...meaning] = signs.find(([sign]) => sign.test(said)) ?? [null];
  return meaning.length === 2 ? meaning : null;
}

function error(code: string, message: string): ErrorEvent {
  return { type: "error", code, message, recoverable: false };
}
