import { fieldsOrNone, parseJson } from "../../../plugin-sdk/json-fields.ts";

/** Outcome of a request to a collector. `refused`: this body will never be taken. */
export type Posted =
  | { state: "taken"; rejected: number }
  | { state: "refused"; status: number }
  /** `again_ms`: how long the collector asks to wait; null where it does not say. */
  | { state: "failed"; reason: string; again_ms: number | null };

interface PostOptions {
  url: string;
  headers: Readonly<Record<string, string>>;
  signal: AbortSignal;
}

/** Milliseconds. */
const requestMs = 10_000;
/** Bounds of what a collector can make the host wait: a mistake must not send without a pause, or not for days. Milliseconds. */
const waits = { shortest: 500, longest: 3_600_000 };
const mostAnswer = 65_536;

/** Statuses that speak of the body: sending it again changes nothing. */
const refusing: readonly number[] = [400, 405, 411, 413, 414, 415, 422, 431, 501];

/** Sends one body, once. Never throws. */
export async function postOtlp(body: string, { url, headers, signal }: PostOptions): Promise<Posted> {
  const late = new AbortController();
  const abort = () => late.abort(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  const timer = setTimeout(() => late.abort(new Error("no answer within 10 s")), requestMs);
  try {
    const response = await fetch(url, {
      method: "POST",
      body,
      headers: { ...headers, "content-type": "application/json" },
      // Another place gets neither the events nor the headers.
      redirect: "error",
      signal: late.signal,
    });
    const text = await readBeginning(response, late.signal);
    if (response.ok) return { state: "taken", rejected: rejectedIn(text) };
    const { status } = response;
    if (refusing.includes(status)) return { state: "refused", status };
    return {
      state: "failed",
      reason: `status ${status}`,
      again_ms: readRetryAfter(response.headers.get("retry-after")),
    };
  } catch (error) {
    return { state: "failed", reason: reasonOf(late.signal.aborted ? late.signal.reason : error), again_ms: null };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}

/** Reads the header Retry-After, seconds or a date, as milliseconds from now; null without one. */
export function readRetryAfter(text: string | null, now: number = Date.now()): number | null {
  if (text === null) return null;
  const ms = /^\d{1,9}$/.test(text.trim()) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isFinite(ms) ? Math.min(Math.max(ms, waits.shortest), waits.longest) : null;
}

async function readBeginning({ body }: Response, signal: AbortSignal): Promise<string> {
  if (body === null) return "";
  const reader = body.getReader();
  const cancel = () => void reader.cancel().catch(() => {});
  // Once the engine has collected its request as garbage, Node's body no longer hears the signal of the fetch.
  signal.addEventListener("abort", cancel, { once: true });
  const decoder = new TextDecoder();
  let text = "";
  for (let piece = await reader.read(); !piece.done && text.length <= mostAnswer; piece = await reader.read()) {
    text += decoder.decode(piece.value, { stream: true });
  }
  signal.throwIfAborted();
  cancel();
  return text.length > mostAnswer ? "" : text;
}

/** A collector may take a body and reject some of it. */
function rejectedIn(text: string): number {
  const said = fieldsOrNone(fieldsOrNone(parseJson(text))["partialSuccess"]);
  const count = Number(said["rejectedSpans"] ?? said["rejectedDataPoints"] ?? 0);
  return Number.isSafeInteger(count) && count > 0 ? count : 0;
}

function reasonOf(error: unknown): string {
  const { message, cause } = error instanceof Error ? error : new Error(String(error));
  return cause instanceof Error && cause.message !== "" ? cause.message : message;
}
