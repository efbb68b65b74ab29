import { type AdapterEvent, fieldsOrNone, parseJson, RateLimitDetector, textOf } from "bulkhead/plugin-sdk";

/** The API's answer to a request that failed. */
interface ApiFailure {
  headers: Readonly<Record<string, string>>;
  /** Body as received: `{"type": "error", "error": {"type", "message"}}`. */
  body: string;
  /** Status of the answer; 0 for an error inside a stream. */
  status: number;
}

const limits = new RateLimitDetector();

/** The class of a failure: a code of the host's, or the adapter's own word. */
type FailureKind =
  | "rate_limit"
  | "quota_exhausted"
  | "unauthenticated"
  | "unavailable"
  | "invalid_model"
  | "context_overflow"
  | "fatal";

/** The last events of a session whose request failed. */
export function failureEvents(failure: ApiFailure, detector: RateLimitDetector): AdapterEvent[] {
  const kind = failureKind(failure);
  const message = failureMessage(failure);
  const limited = kind === "rate_limit" || kind === "quota_exhausted";
  if (!limited) {
    const code = kind === "unauthenticated" ? "unavailable" : kind;
    return [{ type: "error", code, message, recoverable: false }];
  }
  // Waiting does not fill an account.
  const wait_ms = kind === "rate_limit" ? waitOf(failure, detector) : null;
  return [
    { type: "rate_limit", message, wait_ms },
    { type: "error", code: "rate_limit", message, recoverable: kind === "rate_limit" },
  ];
}

/** Returns the kind of a failure, by its type and, where that is missing, by its status. */
export function failureKind({ status, body }: ApiFailure): FailureKind {
  const { type, message } = readError(body);
  if (type === "billing_error" || status === 402 || /credit balance is too low/i.test(message)) {
    return "quota_exhausted";
  }
  if (type === "rate_limit_error" || status === 429 || (status < 500 && limits.detect(message))) return "rate_limit";
  if (/^(authentication|permission)_error$/.test(type) || status === 401 || status === 403) return "unauthenticated";
  if (type === "request_too_large" || status === 413) return "context_overflow";
  if (/prompt is too long|context (?:limit|window)/i.test(message)) return "context_overflow";
  if (status === 404 && /\bmodel\b/i.test(message)) return "invalid_model";
  if (/^(api|overloaded|timeout)_error$/.test(type) || status >= 500) return "unavailable";
  return "fatal";
}

/** One sentence with the status and what the API said. */
export function failureMessage({ status, body }: ApiFailure): string {
  const said = readError(body).message.trim().slice(0, 2048).replace(/\.$/, "");
  const head = status === 0 ? "The API failed while it answered" : `The API answered with status ${status}`;
  return said === "" ? `${head}.` : `${head}: ${said}.`;
}

function readError(body: string): { type: string; message: string } {
  const error = fieldsOrNone(fieldsOrNone(parseJson(body))["error"]);
  return { type: textOf(error["type"]) ?? "", message: textOf(error["message"]) ?? body };
}

/** `retry-after`, else the last reset of the limits that are used up, else what the message says. */
function waitOf(failure: ApiFailure, detector: RateLimitDetector): number | null {
  const { headers } = failure;
  const after = headers["retry-after"];
  const resets = Object.entries(headers).flatMap(([name, value]) => {
    const [, limit] = /^anthropic-ratelimit-([a-z-]+)-reset$/.exec(name) ?? [];
    if (limit === undefined || Number(headers[`anthropic-ratelimit-${limit}-remaining`] ?? 0) > 0) return [];
    return detector.extractWaitTime(`resets at ${value}`) ?? [];
  });
  const told = after === undefined ? null : detector.extractWaitTime(`retry-after: ${after}`);
  const seconds = told ?? (resets.length > 0 ? Math.max(...resets) : detector.extractWaitTime(failureMessage(failure)));
  return seconds === null ? null : seconds * 1000;
}
