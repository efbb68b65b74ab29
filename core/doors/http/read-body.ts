import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { GrownBytes } from "../../ground/platform/files/grown-bytes.ts";
import type { HttpLimits } from "./door-options.ts";

/**
 * Reads the JSON of a request's body.
 * @throws {BulkheadError} `invalid_request`, `too_large`
 */
export async function readBody(
  request: Request,
  limits: Pick<HttpLimits, "http_body_bytes" | "message_depth">,
): Promise<unknown> {
  // Demand JSON: a web page can send the types of forms without the browser asking first.
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") {
    throw new BulkheadError("invalid_request", "Cannot read the body: its Content-Type is not application/json.");
  }
  const coding = request.headers.get("content-encoding");
  if (coding !== null && coding !== "identity") {
    throw new BulkheadError("invalid_request", `Cannot read the body: it is packed (${coding.slice(0, 32)}).`);
  }
  const text = decode(await readBytes(request, limits.http_body_bytes));
  checkDepth(text, limits.message_depth);
  return parse(text);
}

async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array> {
  const body = new GrownBytes();
  for await (const piece of readPieces(request, maxBytes)) body.push(piece);
  return body.take();
}

/**
 * Reads a body in the pieces in which it comes.
 * @throws {BulkheadError} `too_large`
 */
export async function* readPieces(request: Request, maxBytes: number): AsyncGenerator<Uint8Array, void, void> {
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const reader = request.body?.getReader();
  let length = 0;
  try {
    for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
      length += next.value.length;
      if (length > maxBytes) throw tooLarge(maxBytes);
      yield next.value;
    }
  } finally {
    void reader?.cancel().catch(() => {});
  }
}

function tooLarge(maxBytes: number): BulkheadError {
  return new BulkheadError("too_large", `Cannot read the body: it has more than ${maxBytes} bytes.`, {
    hint: "Put the material into files of the working directory, or raise the limit http_body_bytes.",
    details: { limit: "http_body_bytes" },
  });
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new BulkheadError("invalid_request", "Cannot read the body: it is not UTF-8.");
  }
}

function parse(text: string): unknown {
  let named = false;
  try {
    const value: unknown = JSON.parse(text);
    named = holdsProto(value);
    if (!named) return value;
  } catch {
    throw new BulkheadError("invalid_request", "Cannot read the body: it is not JSON.");
  }
  throw new BulkheadError("invalid_request", 'Cannot read the body: it has a key "__proto__".');
}

function holdsProto(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.hasOwn(value, "__proto__") || Object.values(value).some(holdsProto);
}

/** Checks the depth before parsing: input that is nested a million times costs far more to parse than to read. */
function checkDepth(text: string, most: number): void {
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (quoted) {
      if (code === 0x5c) at += 1;
      else if (code === 0x22) quoted = false;
    } else if (code === 0x22) quoted = true;
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > most) {
        throw new BulkheadError("invalid_request", `Cannot read the body: it is nested deeper than ${most} levels.`);
      }
    } else if (code === 0x7d || code === 0x5d) depth -= 1;
  }
}
