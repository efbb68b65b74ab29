import { isShallow } from "./depth.ts";

/** A program on the other side of two pipes, such as an editor that started this one. */
export interface ByteWire {
  /** Ends when the other side closes its end. */
  readonly input: AsyncIterable<Uint8Array>;
  /** Resolves when the other side can take more. */
  write(text: string): Promise<void>;
}

/** How large and how deep one message may be. */
export interface MessageBounds {
  message_bytes: number;
  message_depth: number;
}

/** A JSON object: all that a JSON-RPC message can be. */
export type JsonObject = Record<string, unknown>;

type Line = { text: string } | { fault: Fault };

interface Fault {
  code: number;
  message: string;
}

/** JSON-RPC messages, one a line. A line that is none is answered with an error of the protocol and skipped. */
export async function* readMessages(wire: ByteWire, bounds: MessageBounds): AsyncGenerator<JsonObject, void, void> {
  for await (const line of readLines(wire.input, bounds.message_bytes)) {
    const parsed = "fault" in line ? line : parse(line.text, bounds.message_depth);
    if ("fault" in parsed) await writeMessage(wire, { jsonrpc: "2.0", id: null, error: parsed.fault });
    else if (parsed.message !== null) yield parsed.message;
  }
}

/** Writes one message. */
export async function writeMessage(wire: ByteWire, message: unknown): Promise<void> {
  await wire.write(`${JSON.stringify(message)}\n`);
}

function parse(text: string, depth: number): { message: JsonObject | null } | { fault: Fault } {
  if (text.trim() === "") return { message: null };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { fault: { code: -32700, message: "Cannot read the message: it is not JSON." } };
  }
  if (Array.isArray(value)) return invalid("it is a batch, and one line holds one message");
  if (typeof value !== "object" || value === null) return invalid("it is not an object");
  if (!isShallow(value, depth)) return invalid(`it is nested deeper than ${depth} levels`);
  return { message: value as JsonObject };
}

function invalid(fault: string): { fault: Fault } {
  return { fault: { code: -32600, message: `Cannot take the message: ${fault}.` } };
}

/** Reads lines of at most that many bytes. A longer line is dropped and reported once. */
async function* readLines(input: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Line, void, void> {
  const tooLarge: Line = invalid(`it has more than ${maxBytes} bytes`);
  let begun: Uint8Array[] = [];
  let bytes = 0;
  let skips = false;
  for await (const chunk of input) {
    for (let at = 0; at < chunk.length;) {
      const end = chunk.indexOf(0x0a, at);
      const part = chunk.subarray(at, end === -1 ? chunk.length : end);
      at += part.length + 1;
      bytes += part.length;
      if (!skips && bytes <= maxBytes) begun.push(part);
      else begun = [];
      if (!skips && bytes > maxBytes) {
        skips = true;
        yield tooLarge;
      }
      if (end === -1) continue;
      if (!skips) yield decode(begun);
      [begun, bytes, skips] = [[], 0, false];
    }
  }
  if (!skips && bytes > 0) yield decode(begun);
}

function decode(parts: readonly Uint8Array[]): Line {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  try {
    return { text: parts.map((part) => decoder.decode(part, { stream: true })).join("") + decoder.decode() };
  } catch {
    return { fault: { code: -32700, message: "Cannot read the message: it is not UTF-8." } };
  }
}
