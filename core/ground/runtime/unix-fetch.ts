import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";

/** A `fetch` that sends every request over a unix socket and ignores the host of its URL. Bodies are texts or bytes. */
export function unixFetch(path: string): (input: string | URL, init?: RequestInit) => Promise<Response> {
  return (input, init = {}) =>
    new Promise((resolve, reject) => {
      const { signal, body, method = "GET" } = init;
      if (signal?.aborted) return reject(signal.reason);
      const url = new URL(input);
      const headers = Object.fromEntries(new Headers(init.headers));
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
      sent.on("response", (incoming) => resolve(toResponse(sent, incoming, settled)));
      sent.on("error", (cause) => {
        settled();
        reject(signal?.aborted ? signal.reason : new TypeError(`Cannot reach "${path}".`, { cause }));
      });
      if (typeof body === "string" || body instanceof Uint8Array) sent.end(body);
      else sent.end();
    });
}

function toResponse(sent: ClientRequest, incoming: IncomingMessage, settled: () => void): Response {
  incoming.once("close", settled);
  const headers = new Headers();
  const { rawHeaders, statusCode: status = 502 } = incoming;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) headers.append(rawHeaders[at]!, rawHeaders[at + 1]!);
  if (status === 204 || status === 304) {
    incoming.resume();
    return new Response(null, { status, headers });
  }
  const pieces = incoming[Symbol.asyncIterator]();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const next: IteratorResult<Uint8Array, unknown> = await pieces.next();
        if (next.done) controller.close();
        else controller.enqueue(new Uint8Array(next.value));
      } catch (error) {
        controller.error(error);
      }
    },
    cancel: () => void sent.destroy(),
  }, { highWaterMark: 0 });
  return new Response(body, { status, headers });
}
