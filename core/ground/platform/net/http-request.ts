import type { IncomingMessage } from "node:http";
import { type ErrorCode, errorCodes } from "../../../../plugin-sdk/errors.ts";

interface ToRequestOptions {
  /** Header lines; as many as this are too many. */
  maxHeaders: number;
  signal: AbortSignal;
}

/**
 * A request as Node got it, as a web request, whose URL is the server's own; or the answer to one that cannot be such.
 * Its body is read from the connection only as it is asked for.
 */
export function toRequest(
  incoming: IncomingMessage,
  { maxHeaders, signal }: ToRequestOptions,
): { request: Request } | { refused: Response } {
  const { method = "", url = "", rawHeaders } = incoming;
  if (rawHeaders.length >= 2 * maxHeaders) return { refused: refusal(431, "too_large", "It has too many headers.") };
  // A proxy's form, and the form without a place, would name another host than the header that is checked.
  if (!url.startsWith("/")) return { refused: refusal(400, "invalid_request", "Its target is no path.") };
  if (method === "TRACE" || method === "CONNECT") {
    return { refused: refusal(400, "invalid_request", `The method ${method} is not served.`) };
  }
  try {
    const headers = new Headers();
    for (let at = 0; at + 1 < rawHeaders.length; at += 2) headers.append(rawHeaders[at]!, rawHeaders[at + 1]!);
    const bodiless = method === "GET" || method === "HEAD";
    const init = { method, headers, signal, ...(bodiless ? {} : { body: bodyOf(incoming), duplex: "half" as const }) };
    return { request: new Request(new URL(`http://localhost${url}`), init) };
  } catch {
    return { refused: refusal(400, "invalid_request", "Its target or its headers cannot be read.") };
  }
}

function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  const pieces = incoming.iterator({ destroyOnReturn: false });
  return pulledStream(pieces, async () => void await pieces.return?.());
}

/** Makes a stream that takes a piece from its source only when its reader wants one. */
export function pulledStream(
  pieces: AsyncIterator<Uint8Array, unknown>,
  cancel: () => Promise<void> | void,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const next = await pieces.next();
        if (next.done) controller.close();
        else controller.enqueue(new Uint8Array(next.value));
      } catch (error) {
        controller.error(error);
      }
    },
    cancel,
  }, { highWaterMark: 0 });
}

function refusal(status: number, code: ErrorCode, why: string): Response {
  const detail = `The request cannot be served. ${why}`;
  const text = JSON.stringify({ type: `urn:bulkhead:error:${code}`, title: errorCodes[code], status, code, detail });
  return new Response(text, {
    status,
    headers: {
      "content-type": "application/problem+json",
      "content-length": String(text.length),
      "x-content-type-options": "nosniff",
    },
  });
}
