import { pulledStream } from "./http-request.ts";
import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";

/** An answer, as far as a client reads it. */
interface PlainAnswer {
  readonly ok: boolean;
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: ReadableStream<Uint8Array> | null;
  json(): Promise<unknown>;
}

/** One request, as far as it can be made without the runtime's `fetch`. */
interface PlainRequest {
  method?: string | undefined;
  headers?: Record<string, string>;
  body?: string | Uint8Array | undefined;
  signal?: AbortSignal | null | undefined;
}

/** A `fetch` that sends every request over a unix socket and ignores the host of its URL. Bodies are texts or bytes. */
export function unixFetch(path: string): (input: string | URL, init?: RequestInit) => Promise<Response> {
  return async (input, init = {}) => {
    const { incoming, body } = await send(path, new URL(input), plain(init));
    const headers = new Headers();
    const { rawHeaders, statusCode: status = 502 } = incoming;
    for (let at = 0; at + 1 < rawHeaders.length; at += 2) headers.append(rawHeaders[at]!, rawHeaders[at + 1]!);
    return new Response(body, { status, headers });
  };
}

/** The same without the runtime's `fetch`, which takes Node longer to load than a request to answer. */
export function unixCall(path: string): (url: string, init: RequestInit) => Promise<PlainAnswer> {
  return async (url, init) => {
    const { incoming, body } = await send(path, new URL(url), init as PlainRequest);
    const { statusCode: status = 502, headers } = incoming;
    return {
      ok: status >= 200 && status < 300,
      status,
      headers: { get: (name) => textOf(headers[name.toLowerCase()]) },
      body,
      json: async () => JSON.parse(await readText(body)) as unknown,
    };
  };
}

function plain({ method, headers, body, signal }: RequestInit): PlainRequest {
  return {
    method,
    headers: Object.fromEntries(new Headers(headers)),
    body: typeof body === "string" || body instanceof Uint8Array ? body : undefined,
    signal,
  };
}

interface Sent {
  incoming: IncomingMessage;
  body: ReadableStream<Uint8Array> | null;
}

function send(path: string, url: URL, { method = "GET", headers = {}, body, signal }: PlainRequest): Promise<Sent> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const sent = requestHttp({
      socketPath: path,
      path: `${url.pathname}${url.search}`,
      method,
      headers,
      agent: false,
    });
    sent.setHeader("host", "localhost");
    const abort = () => sent.destroy(signal?.reason instanceof Error ? signal.reason : undefined);
    signal?.addEventListener("abort", abort, { once: true });
    const settled = () => signal?.removeEventListener("abort", abort);
    sent.on("response", (incoming) => {
      incoming.once("close", settled);
      resolve({ incoming, body: bodyOf(sent, incoming) });
    });
    sent.on("error", (cause) => {
      settled();
      reject(signal?.aborted ? signal.reason : new TypeError(`Cannot reach "${path}".`, { cause }));
    });
    sent.end(body);
  });
}

function bodyOf(sent: ClientRequest, incoming: IncomingMessage): ReadableStream<Uint8Array> | null {
  if (incoming.statusCode === 204 || incoming.statusCode === 304) {
    incoming.resume();
    return null;
  }
  return pulledStream(incoming[Symbol.asyncIterator](), () => void sent.destroy());
}

async function readText(body: ReadableStream<Uint8Array> | null): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for (const reader = body?.getReader();;) {
    const next = await reader?.read();
    if (next?.value === undefined) return text + decoder.decode();
    text += decoder.decode(next.value, { stream: true });
  }
}

function textOf(value: string | string[] | undefined): string | null {
  return value === undefined ? null : [value].flat().join(", ");
}
