import {
  type ErrorEvent,
  fieldsOrNone,
  type JsonFields,
  numberOf,
  RateLimitDetector,
  stringOf,
} from "bulkhead/plugin-sdk";

type Meaning = [code: string, recoverable: boolean];

const limits = new RateLimitDetector();

/** Codex's own names of failures whose words may say less. */
const names: Readonly<Record<string, Meaning>> = {
  contextWindowExceeded: ["context_overflow", false],
  usageLimitExceeded: ["rate_limit", true],
  rateLimitExceeded: ["rate_limit", true],
  unauthorized: ["unavailable", false],
  serverOverloaded: ["unavailable", true],
  internalServerError: ["unavailable", true],
  policyCapacityUnavailable: ["unavailable", true],
  flexUnavailable: ["unavailable", true],
  cyberPolicy: ["refused", false],
  bioPolicy: ["refused", false],
  misalignmentPolicyViolation: ["refused", false],
};

/** Signs in what Codex says when it fails, the first that fits counts. */
const signs: readonly [sign: Pick<RegExp, "test">, ...Meaning][] = [
  [/context window|context_length_exceeded|maximum context length/i, "context_overflow", false],
  [{ test: (said) => limits.detect(said) }, "rate_limit", true],
  // A thread that began with the key goes on with it alone: the next access mode has it.
  [/model provider .{0,3}bulkhead.{0,3}, which is no longer configured/i, "unavailable", false],
  // Another agent may be able to; this one needs a person first.
  [/\b40[13]\b|unauthorized|forbidden|not logged in|refresh token|authentication/i, "unavailable", false],
  [/usage polic|content polic|flagged|cyber_policy/i, "refused", false],
  [/\b5\d\d\b|high demand|overloaded|at capacity|server error/i, "unavailable", true],
  [/stream disconnected|transport error|network error|connection|timed? ?out/i, "unavailable", true],
];

/** Returns a failed turn as an event, with the code that Codex's name of it or its text shows; `fatal` for an unknown one. */
export function failureOf(message: string, info?: unknown): ErrorEvent {
  const [code, recoverable] = meaningOf(message, info);
  return { type: "error", code, message, recoverable };
}

/** Returns the words of an error. */
export function messageOf(error: JsonFields): string {
  const said = [error["message"], error["additionalDetails"]].flatMap((text) => stringOf(text) ?? []);
  return said.length === 0 ? "Codex says that the turn failed." : said.join(" ");
}

function meaningOf(message: string, info: unknown): Meaning {
  const name = stringOf(info) ?? "";
  if (Object.hasOwn(names, name)) return names[name]!;
  const [, ...meaning] = signs.find(([sign]) => sign.test(message)) ?? [null, ...ofStatus(info)];
  return meaning;
}

/** The meaning of an error that names the status of an answer, or none, to a request. */
function ofStatus(info: unknown): Meaning {
  const [kind] = Object.values(fieldsOrNone(info));
  const fields = fieldsOrNone(kind);
  if (!("httpStatusCode" in fields)) return ["fatal", false];
  const status = numberOf(fields["httpStatusCode"]);
  if (status === 429) return ["rate_limit", true];
  if (status === null || status >= 500) return ["unavailable", true];
  return status === 401 || status === 403 ? ["unavailable", false] : ["fatal", false];
}
