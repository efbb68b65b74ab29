import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { ErrorData } from "../../../plugin-sdk/errors.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import { ClientError } from "./client-error.ts";

/** Standard output of `bulkhead run --json`, in pieces of any size. */
export type NdjsonSource =
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array | string>;

/** Options of {@link readEvents}. */
export interface ReadEventsOptions {
  /** Characters of one line, at most. */
  maxLineLength?: number;
}

/**
 * Reads the envelopes that `bulkhead run --json` prints. Leaving the loop closes the source.
 *
 * ```ts
 * const child = spawn("bulkhead", ["run", "my-agent", "Fix it", "--json"]);
 * for await (const { event } of readEvents(child.stdout)) console.log(event.type);
 * ```
 *
 * @throws {ClientError} `protocol_violation` for a line that is no envelope, `too_large` for a line that is too long,
 * or the error that the program itself reported
 */
export async function* readEvents(
  source: NdjsonSource,
  { maxLineLength = 64 * 1024 * 1024 }: ReadEventsOptions = {},
): AsyncGenerator<Envelope, void, void> {
  let number = 0;
  for await (const line of readLines(source, maxLineLength)) {
    number += 1;
    if (line.trim() !== "") yield parseLine(line, number);
  }
}

/**
 * Reads all of a session's events and returns the result that ends them.
 * @throws {ClientError} `protocol_violation` when the events end without one, and the errors of {@link readEvents}
 */
export async function finalResult(events: AsyncIterable<Envelope>): Promise<SessionResult> {
  let result: SessionResult | undefined;
  for await (const { event } of events) {
    if (event.type === "session_ended") result = event.result;
  }
  if (result === undefined) {
    throw new ClientError({
      code: "protocol_violation",
      message: "The events ended before the session did.",
      hint: "The program was stopped, or its output was cut off.",
    });
  }
  return result;
}

async function* readLines(source: NdjsonSource, maxLength: number): AsyncGenerator<string, void, void> {
  let pieces: string[] = [];
  let length = 0;
  for await (const text of readText(source)) {
    let start = 0;
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
      checkLength(length + end - start, maxLength);
      yield pieces.join("") + text.slice(start, end);
      pieces = [];
      length = 0;
      start = end + 1;
    }
    pieces.push(text.slice(start));
    length += text.length - start;
    checkLength(length, maxLength);
  }
  if (length > 0) yield pieces.join("");
}

async function* readText(source: NdjsonSource): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder();
  for await (const piece of readPieces(source)) {
    yield typeof piece === "string" ? piece : decoder.decode(piece, { stream: true });
  }
  yield decoder.decode();
}

async function* readPieces(source: NdjsonSource): AsyncGenerator<Uint8Array | string, void, void> {
  // Some runtimes cannot iterate a web stream.
  if (!("getReader" in source)) return yield* source;
  const reader = source.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    await reader.cancel();
  }
}

function parseLine(line: string, number: number): Envelope {
  const value = parseJson(line, number);
  if (isReported(value)) throw new ClientError(value.error);
  if (!isEnvelope(value)) throw violation(`Line ${number} is not an event envelope of version 1.`, number);
  return value;
}

function parseJson(line: string, number: number): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw violation(`Line ${number} is not JSON.`, number);
  }
}

function isReported(value: unknown): value is { error: ErrorData } {
  if (!isRecord(value) || !isRecord(value["error"])) return false;
  return typeof value["error"]["code"] === "string" && typeof value["error"]["message"] === "string";
}

function isEnvelope(value: unknown): value is Envelope {
  return isRecord(value) && value["v"] === 1 && Number.isInteger(value["seq"]) && Number.isInteger(value["gseq"]) &&
    typeof value["session_id"] === "string" && isRecord(value["event"]) && typeof value["event"]["type"] === "string";
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function checkLength(length: number, maxLength: number): void {
  if (length <= maxLength) return;
  throw new ClientError({ code: "too_large", message: `A line is longer than ${maxLength} characters.` });
}

function violation(message: string, line: number): ClientError {
  return new ClientError({ code: "protocol_violation", message, details: { line } });
}
