import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { batchCharacters, hasMoreValues } from "./count-values.ts";
import { encodeFrame } from "../../ground/checks/frames.ts";
import type { PartMessage } from "./protocol.ts";

/** Sends a message's JSON text as one frame, or as several `part` frames when it is larger than a frame may be. */
export function sendText(text: string, options: SendOptions): void {
  const { lane, frameBytes, post } = options;
  // UTF-8 takes at most three bytes per unit, so a short text needs no counting.
  if (text.length * 3 <= frameBytes) return post(encodeFrame(lane, text));
  const whole = encodeFrame(lane, text);
  if (whole.length <= frameBytes) return post(whole);
  // A piece is escaped again (two bytes for each byte of JSON) and its units take up to three bytes.
  const step = Math.floor(frameBytes / 8);
  for (let at = 0; at < text.length; at += step) {
    const part: PartMessage = { type: "part", text: text.slice(at, at + step), last: at + step >= text.length };
    post(encodeFrame(lane, JSON.stringify(part)));
  }
}

interface SendOptions {
  lane: number;
  /** Maximum bytes of one frame. */
  frameBytes: number;
  /** Takes one whole frame. */
  post(frame: Uint8Array<ArrayBuffer>): void;
}

/** A received message with the text it was parsed from. */
export interface ReceivedMessage {
  message: unknown;
  text: string;
  /** For a batch of events, the exact text that its list was parsed from. */
  eventsText?: string;
}

/** Turns one lane's payloads into messages: decodes strictly, joins parts, and drops every own `__proto__`. */
export class MessageReader {
  readonly #maxBytes: number;
  readonly #maxValues: number;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  #parts: string[] = [];
  #partBytes = 0;

  /**
   * @param maxBytes maximum bytes of a message sent in parts
   * @param maxValues maximum JSON values of one event or call; a batch of small events may have more
   */
  constructor(maxBytes: number, maxValues: number = Infinity) {
    this.#maxBytes = maxBytes;
    this.#maxValues = Math.max(maxValues + envelopeValues, batchCharacters / 2 + envelopeValues);
  }

  /**
   * Reads one payload; null while parts are still to come.
   * @throws {BulkheadError} `protocol_violation` for bad UTF-8, bad JSON or a message over the limit
   */
  read(payload: Uint8Array): ReceivedMessage | null {
    const text = this.#decode(payload);
    this.#checkValues(text);
    const batch = parseEvents(text);
    if (batch) return batch;
    const message = parseMessage(text);
    if (!isPart(message)) return { message, text };
    this.#partBytes += payload.length;
    if (this.#partBytes > this.#maxBytes) {
      throw new BulkheadError("protocol_violation", `A message is over the limit of ${this.#maxBytes} bytes.`);
    }
    this.#parts.push(message.text);
    if (!message.last) return null;
    const whole = this.#parts.join("");
    this.#parts = [];
    this.#partBytes = 0;
    this.#checkValues(whole);
    return parseEvents(whole) ?? { message: parseMessage(whole), text: whole };
  }

  #checkValues(text: string): void {
    if (!hasMoreValues(text, this.#maxValues)) return;
    throw new BulkheadError("protocol_violation", `A message has more than ${this.#maxValues} values.`);
  }

  #decode(payload: Uint8Array): string {
    try {
      return this.#decoder.decode(payload);
    } catch (cause) {
      throw new BulkheadError("protocol_violation", "A frame is not UTF-8.", { cause });
    }
  }
}

function parseMessage(text: string): unknown {
  try {
    return mayHoldProto(text) ? JSON.parse(text, dropProto) : JSON.parse(text);
  } catch (cause) {
    throw new BulkheadError("protocol_violation", "A frame is not JSON.", { cause });
  }
}

/** Values that surround the events of a batch and the arguments of a call. */
const envelopeValues = 16;

/** Start of a batch of events as our own guest writes it. */
const eventsStart = /^\{"type":"events","sid":(0|[1-9]\d{0,14}),"events":(?=\[)/;

/**
 * Parses a batch of events by its list alone. The host later keeps exactly the text parsed here: cutting it out of a
 * message that was parsed as a whole would trust its sender to have written no second list into it. Null for all other
 * messages, which are parsed as a whole.
 */
function parseEvents(text: string): ReceivedMessage | null {
  const [start, sid] = eventsStart.exec(text) ?? [];
  if (start === undefined || !text.endsWith("]}") || mayHoldProto(text)) return null;
  const eventsText = text.slice(start.length, -1);
  try {
    return { message: { type: "events", sid: Number(sid), events: JSON.parse(eventsText) }, text, eventsText };
  } catch {
    return null;
  }
}

/** Each of its letters may also be written as an escape. */
const escapedProto =
  /(?:_|\\u005f){2}(?:p|\\u0070)(?:r|\\u0072)(?:o|\\u006f)(?:t|\\u0074)(?:o|\\u006f)(?:_|\\u005f){2}/i;

function mayHoldProto(text: string): boolean {
  return text.includes("__proto__") || (text.includes("\\u00") && escapedProto.test(text));
}

function dropProto(key: string, value: unknown): unknown {
  return key === "__proto__" ? undefined : value;
}

function isPart(message: unknown): message is PartMessage {
  return typeof message === "object" && message !== null && "type" in message && message.type === "part" &&
    "text" in message && typeof message.text === "string" && "last" in message && typeof message.last === "boolean";
}
