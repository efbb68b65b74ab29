import type { ErrorCode } from "../../../plugin-sdk/errors.ts";
import { ClientError } from "./client-error.ts";
import { pause } from "./retried.ts";

/** The part of a `Response` that the client reads. */
export interface HttpAnswer {
  readonly ok: boolean;
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: ReadableStream<Uint8Array> | null;
  json(): Promise<unknown>;
}

/** The part of `fetch` that the client uses: headers are an object of texts, and a body is a text or bytes. */
export type FetchLike = (url: string, init: RequestInit) => Promise<HttpAnswer>;

/** Address of a host, and how to call it. */
export interface Api {
  /** Without a trailing slash. */
  url: string;
  fetch: FetchLike;
  token: string | undefined;
  /** Resolves once the server may get the token. Called before each request: another program may take the port. */
  prove(signal: AbortSignal | undefined): Promise<void>;
  /** How long a request waits in all for a host that gets too many. Milliseconds. */
  patienceMs: number;
  /** Called before each such wait. */
  onThrottled?: ((what: Throttled) => unknown) | undefined;
}

/** Answer of a host to a client that asks too much. */
export interface Throttled {
  /** How long the client waits before it asks again. Milliseconds. */
  waitMs: number;
  /** The host's own sentence. */
  message: string;
}

interface CallOptions {
  method?: string;
  /** Sent as JSON; bytes as they are. */
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** Ends the wait of a throttled request, and no request that was sent. */
  leave?: AbortSignal | undefined;
}

/**
 * Sends a request; returns a response that is no error. Waits and asks again while the host throttles the client.
 * @throws {ClientError} the error that the host reported, `network_error` when it is unreachable; the signal's reason
 */
export async function call(api: Api, path: string, options: CallOptions = {}): Promise<HttpAnswer> {
  const began = Date.now();
  for (let pauseMs = firstPauseMs;; pauseMs = Math.min(longestPauseMs, pauseMs * 2)) {
    try {
      return await callOnce(api, path, options);
    } catch (error) {
      if (!isThrottled(error, options.method)) throw error;
      const waitMs = error.retryAfterMs ?? pauseMs;
      if (Date.now() - began + waitMs > api.patienceMs) throw error;
      await api.onThrottled?.({ waitMs, message: error.message });
      // Clients that were refused together do not come back together.
      await pause(waitMs + Math.random() * pauseMs, options.signal, options.leave);
      if (options.signal?.aborted) throw options.signal.reason;
      if (options.leave?.aborted) throw error;
    }
  }
}

const firstPauseMs = 100;
const longestPauseMs = 5000;

/**
 * Whether the host refused a request because of too many others, so that it may succeed later. A request whose repetition
 * could do its work twice counts only where the host refused it before it looked at it.
 */
function isThrottled(error: unknown, method = "GET"): error is ClientError {
  if (!(error instanceof ClientError) || error.code !== "limit_exceeded") return false;
  return method !== "POST" || String(error.details?.["limit"]).startsWith("http_");
}

async function callOnce(api: Api, path: string, options: CallOptions): Promise<HttpAnswer> {
  const { method = "GET", body, headers = {}, signal } = options;
  await api.prove(signal);
  const isBytes = body instanceof Uint8Array;
  const response = await send(api, path, {
    method,
    headers: {
      accept: "application/json",
      ...(api.token === undefined ? {} : { authorization: `Bearer ${api.token}` }),
      ...(body === undefined ? {} : { "content-type": isBytes ? "application/octet-stream" : "application/json" }),
      ...headers,
    },
    redirect: "error",
    body: body === undefined ? null : isBytes ? body as Uint8Array<ArrayBuffer> : JSON.stringify(body),
    signal: signal ?? null,
  });
  if (response.ok) return response;
  throw await reported(response);
}

/** Like {@link call}, and reads the answer's JSON. */
export async function callJson<T>(api: Api, path: string, options: CallOptions = {}): Promise<T> {
  const response = await call(api, path, options);
  try {
    return await response.json() as T;
  } catch (error) {
    if (options.signal?.aborted) throw options.signal.reason;
    throw unreachable(api, error);
  }
}

/** Sends a request without any checks. The signal ends the reading of the answer's JSON too. */
export async function send(
  api: Pick<Api, "url" | "fetch">,
  path: string,
  init: RequestInit,
): Promise<HttpAnswer> {
  // A caller's own fetch may throw at once.
  const asked = (async () => await api.fetch(`${api.url}${path}`, init))();
  try {
    const answer = await unlessAborted(asked, init.signal);
    const { ok, status, headers, body } = answer;
    return { ok, status, headers, body, json: () => unlessAborted(answer.json(), init.signal) };
  } catch (error) {
    asked.then(({ body }) => body?.cancel()).catch(() => {});
    if (init.signal?.aborted) throw init.signal.reason;
    throw unreachable(api, error);
  }
}

/** Creates the error for a host that does not answer. */
export function unreachable({ url }: Pick<Api, "url">, cause: unknown): ClientError {
  const why = cause instanceof Error ? ` (${cause.message})` : "";
  return new ClientError({
    code: "network_error",
    message: `Cannot reach the host at ${url}${why}.`,
    hint: 'Is it running? "bulkhead status" says so.',
  }, { cause });
}

/** Returns the error that a host reported. */
export async function reported(response: HttpAnswer): Promise<ClientError> {
  const problem: unknown = await response.json().catch(() => null);
  const field = (name: string): unknown =>
    typeof problem === "object" && problem !== null ? Reflect.get(problem, name) : undefined;
  const [code, detail, hint, details] = ["code", "detail", "hint", "details"].map(field);
  if (typeof code !== "string" || typeof detail !== "string") {
    return new ClientError({
      code: "protocol_violation",
      message: `The server answered with ${response.status} and no problem document: it is no Bulkhead host.`,
    });
  }
  const wait = Number(response.headers.get("retry-after"));
  return new ClientError({
    code: code as ErrorCode,
    message: detail,
    ...(typeof hint === "string" ? { hint } : {}),
    ...(typeof details === "object" && details !== null ? { details: details as Record<string, unknown> } : {}),
  }, wait > 0 ? { retryAfterMs: wait * 1000 } : {});
}

/**
 * Settles as the work does, or fails with the signal's reason as soon as that aborts. To pass the signal on is not enough:
 * `fetch` of Node loses it once the engine has collected the request's object, which happens while an answer is read.
 * Source: https://github.com/nodejs/undici/issues/3644
 */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | null | undefined): Promise<T> {
  if (!signal) return work;
  return new Promise<T>((resolve, reject) => {
    const end = () => reject(signal.reason);
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", end));
  });
}
