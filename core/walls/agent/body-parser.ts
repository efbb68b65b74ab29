import { Buffer } from "node:buffer";
import { type HttpFields, maxHeadBytes, valuesOf } from "./http-head.ts";

/** End of a body: after so many bytes, with the last chunk, or with the connection. */
type BodyEnd = number | "chunks" | "connection";

/** Takes a body as it comes. */
interface BodyTaker {
  body(piece: Buffer): void;
  end(): void;
}

/** The next part of a body. */
type Part = "bytes" | "all" | "chunk" | "chunk_bytes" | "chunk_end" | "trailer" | "nothing";

/** Bytes that are parsed as they come; what is not whole yet waits for more. */
export class HeldBytes {
  #held: Buffer = Buffer.alloc(0);

  /**
   * Hands over all that is there, again and again without what was taken.
   * @param take returns how many bytes it took: 0 while they are too few, null to take no more
   * @returns the bytes that are left when it takes no more
   */
  push(piece: Buffer, take: (bytes: Buffer) => number | null): Buffer {
    let rest = this.#held.length === 0 ? piece : Buffer.concat([this.#held, piece]);
    this.#held = Buffer.alloc(0);
    while (rest.length > 0) {
      const taken = take(rest);
      if (taken === null) break;
      if (taken === 0) {
        // The piece may be a part of a buffer that is read into again.
        this.#held = Buffer.from(rest);
        return Buffer.alloc(0);
      }
      rest = rest.subarray(taken);
    }
    return rest;
  }
}

/** Parses the body of one message (RFC 9112), whatever pieces it comes in. Trailers are dropped. */
export class BodyParser {
  readonly #taker: BodyTaker;
  readonly #refused: (why: string) => Error;
  #part: Part;
  readonly #held = new HeldBytes();
  #left = 0;

  /** @param options what a body is told to be that is none */
  constructor(end: BodyEnd, { taker, refused }: { taker: BodyTaker; refused(why: string): Error }) {
    this.#taker = taker;
    this.#refused = refused;
    this.#left = typeof end === "number" ? end : 0;
    this.#part = end === "chunks" ? "chunk" : end === "connection" ? "all" : end === 0 ? "nothing" : "bytes";
    if (this.#part === "nothing") taker.end();
  }

  /** Takes the next bytes; those behind the body are left out. */
  push(piece: Buffer): void {
    this.#held.push(piece, (rest) => this.#part === "nothing" ? null : this.#take(rest));
  }

  /** The connection has ended; false when the body had not. */
  close(): boolean {
    if (this.#part === "all") this.#finish();
    return this.#part === "nothing";
  }

  /** Takes what stands at the beginning; returns its length, or 0 while it is not whole. */
  #take(bytes: Buffer): number {
    switch (this.#part) {
      case "all":
        this.#taker.body(bytes);
        return bytes.length;
      case "bytes":
      case "chunk_bytes":
        return this.#takeBytes(bytes);
      case "chunk":
        return this.#takeLine(bytes, (line) => {
          this.#left = this.#chunkSize(line);
          this.#part = this.#left === 0 ? "trailer" : "chunk_bytes";
        });
      case "chunk_end":
        if (bytes.length < 2) return 0;
        if (bytes[0] !== 13 || bytes[1] !== 10) throw this.#refused("it is no HTTP");
        this.#part = "chunk";
        return 2;
      case "trailer":
        return this.#takeLine(bytes, (line) => {
          if (line.length === 0) this.#finish();
        });
      case "nothing":
        return bytes.length;
    }
  }

  #takeBytes(bytes: Buffer): number {
    const taken = Math.min(this.#left, bytes.length);
    this.#left -= taken;
    this.#taker.body(taken === bytes.length ? bytes : bytes.subarray(0, taken));
    if (this.#left > 0) return taken;
    if (this.#part === "chunk_bytes") this.#part = "chunk_end";
    else this.#finish();
    return taken;
  }

  #takeLine(bytes: Buffer, take: (line: Buffer) => void): number {
    const end = bytes.indexOf(10);
    if (end < 0 && bytes.length > maxHeadBytes) throw this.#refused("one of its lines is too long");
    if (end < 0) return 0;
    if (bytes[end - 1] !== 13) throw this.#refused("it is no HTTP");
    take(bytes.subarray(0, end - 1));
    return end + 1;
  }

  #finish(): void {
    this.#part = "nothing";
    this.#taker.end();
  }

  /** Returns the number before the extensions of a chunk. */
  #chunkSize(line: Buffer): number {
    let size = 0;
    let at = 0;
    for (; at < line.length && at < 12; at++) {
      const byte = line[at]!;
      const letter = byte | 32;
      const digit = byte >= 48 && byte <= 57 ? byte - 48 : letter >= 97 && letter <= 102 ? letter - 87 : -1;
      if (digit < 0) break;
      size = size * 16 + digit;
    }
    const next = line[at];
    if (at === 0 || next !== undefined && next !== 59 && next !== 32 && next !== 9) {
      throw this.#refused("it is no HTTP");
    }
    return size;
  }
}

/** Returns how a message says that its body ends; null where it says it more than once, or in no way that is known. */
export function endOfBody(
  { version, headers }: { version: string; headers: HttpFields },
): BodyEnd | "unsaid" | null {
  const lengths = valuesOf(headers, "content-length");
  const codings = valuesOf(headers, "transfer-encoding").map((coding) => coding.toLowerCase());
  const [length] = lengths;
  const isOnce = lengths.length + codings.length <= 1 && (length === undefined || /^\d{1,15}$/.test(length)) &&
    codings.every((coding) => coding === "chunked");
  // In HTTP/1.0 there are no chunks: another reader takes their marks for the body.
  if (!isOnce || version === "1.0" && codings.length > 0) return null;
  return length !== undefined ? Number(length) : codings.length > 0 ? "chunks" : "unsaid";
}
