import { BulkheadError } from "../../../plugin-sdk/errors.ts";

/**
 * One frame: payload length (u32, little endian), lane (u32, little endian), payload (mostly UTF-8 JSON).
 * The same bytes go over a pipe to a process and, as transferred buffers, over a MessagePort to a thread.
 */
export const headerBytes = 8;

const encoder = new TextEncoder();

const noHead = new Uint8Array(0);

/**
 * A text as one frame, in a buffer of its own that can be transferred. The buffer may be longer than the frame.
 * @param head bytes of the payload before the text
 */
export function encodeFrame(lane: number, text: string, head: Uint8Array = noHead): Uint8Array<ArrayBuffer> {
  // Nearly all text is ASCII: one byte for each unit with some slack, and three only when that was too small.
  const room = text.length + (text.length >> 4) + 64;
  return encodeInto(text, { lane, head, room }) ?? encodeInto(text, { lane, head, room: text.length * 3 })!;
}

function encodeInto(
  text: string,
  { lane, head, room }: { lane: number; head: Uint8Array; room: number },
): Uint8Array<ArrayBuffer> | null {
  const from = headerBytes + head.length;
  const bytes = new Uint8Array(from + room);
  const { read, written } = encoder.encodeInto(text, bytes.subarray(from));
  if (read < text.length) return null;
  const header = new DataView(bytes.buffer);
  header.setUint32(0, head.length + written, true);
  header.setUint32(4, lane, true);
  bytes.set(head, headerBytes);
  return bytes.subarray(0, from + written);
}

/** A payload as one frame in a buffer of its own. */
export function wrapFrame(lane: number, payload: Uint8Array): Uint8Array<ArrayBuffer> {
  const frame = new Uint8Array(headerBytes + payload.length);
  const header = new DataView(frame.buffer);
  header.setUint32(0, payload.length, true);
  header.setUint32(4, lane, true);
  frame.set(payload, headerBytes);
  return frame;
}

/** One decoded frame; `payload` is a view that is valid until the next push. */
interface Frame {
  lane: number;
  payload: Uint8Array;
}

/** Cuts a stream of bytes, in pieces of any size, into frames, and enforces their size before it buffers. */
export class FrameReader {
  readonly #maxBytes: number;
  readonly #header = new Uint8Array(headerBytes);
  #headerFill = 0;
  #payload: Uint8Array | null = null;
  #payloadFill = 0;
  #lane = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** True while a frame has begun and is not whole. */
  get partial(): boolean {
    return this.#headerFill > 0;
  }

  /**
   * Calls `take` for each frame that is now whole.
   * @throws {BulkheadError} `protocol_violation` for a frame over the limit; the reader is then of no more use
   */
  push(chunk: Uint8Array, take: (frame: Frame) => void): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#headerFill < headerBytes) {
        const count = Math.min(headerBytes - this.#headerFill, chunk.length - at);
        this.#header.set(chunk.subarray(at, at + count), this.#headerFill);
        this.#headerFill += count;
        at += count;
        if (this.#headerFill < headerBytes) return;
        const length = this.#begin();
        if (chunk.length - at >= length) {
          // The whole payload is here: hand out a view, copy nothing.
          this.#headerFill = 0;
          take({ lane: this.#lane, payload: chunk.subarray(at, at + length) });
          at += length;
          continue;
        }
        this.#payload = new Uint8Array(length);
        this.#payloadFill = 0;
      }
      const payload = this.#payload!;
      const count = Math.min(payload.length - this.#payloadFill, chunk.length - at);
      payload.set(chunk.subarray(at, at + count), this.#payloadFill);
      this.#payloadFill += count;
      at += count;
      if (this.#payloadFill < payload.length) return;
      this.#headerFill = 0;
      this.#payload = null;
      take({ lane: this.#lane, payload });
    }
  }

  #begin(): number {
    const view = new DataView(this.#header.buffer);
    const length = view.getUint32(0, true);
    this.#lane = view.getUint32(4, true);
    if (length > this.#maxBytes) {
      throw new BulkheadError(
        "protocol_violation",
        `A frame of ${length} bytes is over the limit of ${this.#maxBytes}.`,
      );
    }
    return length;
  }
}
