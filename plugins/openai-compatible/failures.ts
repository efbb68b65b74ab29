import {
  type AdapterEvent,
  type ErrorEvent,
  fieldsOrNone,
  parseJson,
  RateLimitDetector,
  type RateLimitEvent,
  textOf,
} from "bulkhead/plugin-sdk";

/** A server's answer to a request that failed. */
export interface ServerFailure {
  /** Status of the answer; 0 for an error inside a stream. */
  status: number;
  headers: Readonly<Record<string, string>>;
  /** Body as received. */
  body: string;
}

/** The class of a failure: a code of the host's, or the adapter's own word. */
type FailureKind =
  | "rate_limit"
  | "quota_exhausted"
  | "unauthenticated"
  | "unavailable"
  | "invalid_model"
  | "context_overflow"
  | "refused"
  | "fatal";

const limits = new RateLimitDetector();
const maxMessage = 2048;

/** The last events of a session whose server failed. */
export function failureEvents(failure: ServerFailure, detector: RateLimitDetector): AdapterEvent[] {
  const kind = failureKind(failure);
  const message = failureMessage(failure);
  switch (kind) {
    case "rate_limit":
      return [limitEvent(failure, detector), { type: "error", code: "rate_limit", message, recoverable: true }];
    case "quota_exhausted":
      // Waiting does not fill an account, so the limit is told without a time and is not worth another try.
      return [
        { type: "rate_limit", message, wait_ms: null },
        { type: "error", code: "rate_limit", message, recoverable: false },
      ];
    case "unauthenticated":
      return [stopped("unavailable", message)];
    default:
      return [stopped(kind, message)];
  }
}

/** Returns the kind of a failure, by its status and by the words of the servers. */
export function failureKind(failure: ServerFailure): FailureKind {
  const { code, type, message } = readError(failure.body);
  const words = `${code} ${type} ${message}`;
  const status = failure.status || Number(code) || 0;
  if (/insufficient_quota|billing_|exceeded your current quota/i.test(words) || status === 402) {
    return "quota_exhausted";
  }
  if (status === 429 || limits.detect(`${code} ${type}`)) return "rate_limit";
  // Plans answer with another status where their limit is reached.
  if (status < 500 && limits.detect(message)) return "rate_limit";
  if (status === 401 || status === 403 || /invalid_api_key|authentication/i.test(`${code} ${type}`)) {
    return "unauthenticated";
  }
  if (/context_length|exceed_context_size|context (?:length|window|size)|prompt is too long/i.test(words)) {
    return "context_overflow";
  }
  if (/content_filter|content_policy|safety_/i.test(`${code} ${type}`)) return "refused";
  if (/model_not_found/i.test(code) || (status === 404 && /\bmodel\b/i.test(words))) return "invalid_model";
  if (status >= 500 || status === 408 || /server_error|overloaded|unavailable/i.test(`${code} ${type}`)) {
    return "unavailable";
  }
  return "fatal";
}

/** One sentence with the status and what the server said. */
export function failureMessage({ status, body }: ServerFailure): string {
  const said = readError(body).message.trim().slice(0, maxMessage);
  const head = status === 0 ? "The server failed while it answered" : `The server answered with status ${status}`;
  return said === "" ? `${head}.` : `${head}: ${said.replace(/\.$/, "")}.`;
}

function stopped(code: string, message: string): ErrorEvent {
  return { type: "error", code, message, recoverable: false };
}

/** The forms are `{"error": {"message", "type", "code"}}`, `{"error": text}`, `{"detail": …}` and the error alone. */
function readError(body: string): { code: string; type: string; message: string } {
  const whole = fieldsOrNone(parseJson(body));
  const error = Object.keys(fieldsOrNone(whole["error"])).length > 0 ? fieldsOrNone(whole["error"]) : whole;
  const detail = whole["detail"];
  const message = textOf(error["message"]) ?? textOf(whole["error"]) ?? textOf(detail) ??
    (detail === undefined ? body : JSON.stringify(detail));
  return { code: wordOf(error["code"]), type: wordOf(error["type"]), message };
}

function wordOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

function limitEvent(failure: ServerFailure, detector: RateLimitDetector): RateLimitEvent {
  const { headers } = failure;
  const message = failureMessage(failure);
  const told = [
    headers["retry-after-ms"] && `wait ${headers["retry-after-ms"]} ms`,
    headers["retry-after"] && `retry-after: ${headers["retry-after"]}`,
  ].map((text) => text ? detector.extractWaitTime(text) : null);
  const seconds = told.find((one) => one !== null) ?? longestReset(headers, detector) ??
    detector.extractWaitTime(message);
  return { type: "rate_limit", message, wait_ms: seconds === null ? null : seconds * 1000 };
}

/** Of several limits only those that are used up count, where the server tells which; of these the last to reset. */
function longestReset(headers: ServerFailure["headers"], detector: RateLimitDetector): number | null {
  const waits = Object.entries(headers).flatMap(([name, value]) => {
    const [, kind] = /^x-ratelimit-reset(-[a-z-]+)?$/.exec(name) ?? [];
    if (!name.startsWith("x-ratelimit-reset")) return [];
    const left = headers[`x-ratelimit-remaining${kind ?? ""}`];
    if (left !== undefined && Number(left) > 0) return [];
    return waitOf(value, detector) ?? [];
  });
  return waits.length === 0 ? null : Math.max(...waits);
}

/** A span such as `6m0s`, a time, or a bare number: seconds, unless it is so large that it can only be a time. */
function waitOf(value: string, detector: RateLimitDetector): number | null {
  if (/^\d{1,9}(\.\d+)?$/.test(value)) return Math.ceil(Number(value));
  return detector.extractWaitTime(`resets in ${value}`) ?? detector.extractWaitTime(`resets at ${value}`);
}
