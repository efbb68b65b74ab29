import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { encodeFrame } from "../../ground/checks/frames.ts";
import type { ReplyMessage } from "./protocol.ts";

/**
 * A reply whose value is a long text, such as a piece of what a program printed. Its text goes as it is: most agents print
 * JSON, and in a message of JSON each of its quotes would be escaped, sent and read once more.
 *
 * Payload: {@link mark}, the entry's number (u32, little endian), the call's number (u32, little endian), the text in UTF-8.
 */
type TextReply = Pick<ReplyMessage, "type" | "sid" | "id"> & { value: string };

/** First byte of the payload: no JSON begins with it. */
const mark = 0;
const headBytes = 9;

/** UTF-16 units of the texts that go as they are; a longer one goes in parts. */
const shortest = 256;
const longest = 1024 * 1024;

const maxNumber = 0xffff_ffff;

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Makes the frame of a reply; null for one that must go as a message. */
export function encodeTextReply(lane: number, { sid, id, value }: ReplyMessage): Uint8Array<ArrayBuffer> | null {
  if (typeof value !== "string" || value.length < shortest || value.length > longest) return null;
  // UTF-8 has no halves of pairs, which JSON can escape.
  if (sid > maxNumber || id > maxNumber || !value.isWellFormed()) return null;
  const head = new Uint8Array(headBytes);
  const view = new DataView(head.buffer);
  view.setUint8(0, mark);
  view.setUint32(1, sid, true);
  view.setUint32(5, id, true);
  return encodeFrame(lane, value, head);
}

/**
 * Reads a payload of the host; null for one that is a message.
 * @throws {BulkheadError} `protocol_violation` for a text that is not UTF-8
 */
export function readTextReply(payload: Uint8Array): TextReply | null {
  if (payload.length < headBytes || payload[0] !== mark) return null;
  const view = new DataView(payload.buffer, payload.byteOffset);
  try {
    const value = decoder.decode(payload.subarray(headBytes));
    return { type: "reply", sid: view.getUint32(1, true), id: view.getUint32(5, true), value };
  } catch (cause) {
    throw new BulkheadError("protocol_violation", "A text is not UTF-8.", { cause });
  }
}
