import {
  countOf,
  type ErrorEvent,
  fieldsOf,
  fieldsOrNone,
  type JsonFields,
  RateLimitDetector,
  stringOf,
} from "bulkhead/plugin-sdk";

/** Meaning of a failure to the host. */
type Meaning = [code: string, recoverable: boolean];

const limits = new RateLimitDetector();

/** Signs in what a provider or the program says, for failures that bear neither a name nor a status; first that fits. */
const signs: readonly [sign: Pick<RegExp, "test">, ...Meaning][] = [
  [/context.?length|context window|prompt is too long|maximum context/i, "context_overflow", false],
  [{ test: (said) => limits.detect(said) }, "rate_limit", true],
  // Another agent may be able to; this one needs a person first.
  [/\b40[13]\b|unauthorized|forbidden|api key|authentication|not logged in/i, "unavailable", false],
  [/content.?filter|content polic|usage polic|flagged/i, "refused", false],
  [/\b5\d\d\b|server_error|overloaded|high demand/i, "unavailable", true],
  [/JSON parsing failed|connection|socket|network|ECONN|fetch failed|timed? ?out/i, "unavailable", true],
];

/** Content of an error line of the program. */
export interface Failure {
  error: ErrorEvent;
  /** How long the provider asks to wait, in milliseconds; null where it does not say. */
  waitMs: number | null;
}

/** A failure from the `error` of a line; null where it says nothing. */
export function failureOf(error: JsonFields): Failure | null {
  const name = stringOf(error["name"]);
  const data = fieldsOrNone(error["data"]);
  const message = stringOf(data["message"]) ?? name;
  if (message === null) return null;
  const [code, recoverable] = byName(name) ?? byStatus(countOf(data["statusCode"])) ?? byText(message);
  return { error: { type: "error", code, message, recoverable }, waitMs: waitOf(fieldsOf(data["responseHeaders"])) };
}

function byName(name: string | null): Meaning | null {
  switch (name) {
    case "ContextOverflowError":
      return ["context_overflow", false];
    case "ProviderAuthError":
      return ["unavailable", false];
    case "MessageOutputLengthError":
      return ["output_limit", false];
    case "ContentFilterError":
      return ["refused", false];
    default:
      return null;
  }
}

function byStatus(status: number | null): Meaning | null {
  if (status === 429) return ["rate_limit", true];
  if (status === 401 || status === 403) return ["unavailable", false];
  return status !== null && status >= 500 ? ["unavailable", true] : null;
}

function byText(message: string): Meaning {
  const [, code, recoverable] = signs.find(([sign]) => sign.test(message)) ?? [null, "fatal", false];
  return [code, recoverable];
}

/** A header says seconds or a date. */
function waitOf(headers: JsonFields | null): number | null {
  const { "retry-after": after, "retry-after-ms": afterMs } = headers ?? {};
  const seconds = typeof afterMs === "string"
    ? limits.extractWaitTime(`wait ${afterMs} ms`)
    : typeof after === "string"
    ? limits.extractWaitTime(`retry-after: ${after}`)
    : null;
  return seconds === null ? null : seconds * 1000;
}
