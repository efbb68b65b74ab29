import { Buffer } from "node:buffer";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { type AnswerHead, maxHeadBytes, parseAnswerHead, valuesOf } from "./http-head.ts";

/** Takes the parts of an answer as they come. */
interface AnswerTaker {
  /** @param length bytes of the body; null: they end with a mark, or with the connection */
  head(head: AnswerHead, length: number | null): void;
  body(piece: Buffer): void;
  end(): void;
}

/** The next part of an answer. */
type Part = "head" | "bytes" | "all" | "chunk" | "chunk_bytes" | "chunk_end" | "trailer" | "nothing";

/** Parses one answer of a server (RFC 9112), whatever pieces it comes in. Trailers are dropped. */
export class AnswerParser {
  readonly #method: string;
  readonly #taker: AnswerTaker;
  #part: Part = "head";
  #held: Buffer = Buffer.alloc(0);
  #left = 0;

  constructor(method: string, taker: AnswerTaker) {
    this.#method = method;
    this.#taker = taker;
  }

  /** @throws {BulkheadError} `network_error` for bytes that are no answer, or one that cannot be looked through */
  push(piece: Buffer): void {
    let rest = this.#held.length === 0 ? piece : Buffer.concat([this.#held, piece]);
    this.#held = Buffer.alloc(0);
    while (rest.length > 0 && this.#part !== "nothing") {
      const taken = this.#take(rest);
      if (taken === 0) {
        // The piece may be a part of a buffer that is read into again.
        this.#held = Buffer.from(rest);
        return;
      }
      rest = rest.subarray(taken);
    }
  }

  /** The connection has ended; false when the answer had not. */
  close(): boolean {
    if (this.#part === "all") this.#finish();
    return this.#part === "nothing";
  }

  /** Takes what stands at the beginning; returns its length, or 0 while it is not whole. */
  #take(bytes: Buffer): number {
    switch (this.#part) {
      case "head":
        return this.#takeHead(bytes);
      case "all":
        this.#taker.body(bytes);
        return bytes.length;
      case "bytes":
      case "chunk_bytes":
        return this.#takeBytes(bytes);
      case "chunk":
        return this.#takeLine(bytes, (line) => {
          this.#left = chunkSize(line);
          this.#part = this.#left === 0 ? "trailer" : "chunk_bytes";
        });
      case "chunk_end":
        if (bytes.length < 2) return 0;
        if (bytes[0] !== 13 || bytes[1] !== 10) throw unreadable("it is no HTTP");
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

  #takeHead(bytes: Buffer): number {
    const end = bytes.indexOf("\r\n\r\n");
    if (end > maxHeadBytes || end < 0 && bytes.length > maxHeadBytes) throw unreadable("its head is too long");
    if (end < 0) return 0;
    const head = parseAnswerHead(bytes.toString("latin1", 0, end));
    if (head === null) throw unreadable("it is no HTTP");
    if (head.status === 101) throw unreadable("it changes the protocol");
    // Interim answers say nothing that a client must know.
    if (head.status >= 200) this.#begin(head);
    return end + 4;
  }

  #begin(head: AnswerHead): void {
    const lengths = valuesOf(head.headers, "content-length");
    const codings = valuesOf(head.headers, "transfer-encoding").map((coding) => coding.toLowerCase());
    const encodings = valuesOf(head.headers, "content-encoding").filter((one) => !/^(?:identity)?$/i.test(one));
    const isEmpty = this.#method === "HEAD" || head.status === 204 || head.status === 304;
    const [length] = lengths;
    const isFramed = lengths.length + codings.length <= 1 && (length === undefined || /^\d{1,15}$/.test(length)) &&
      codings.every((coding) => coding === "chunked");
    if (!isFramed) throw unreadable("it does not say once where it ends");
    if (encodings.length > 0 && !isEmpty) throw unreadable("it is encoded, which was not asked for");
    this.#left = Number(length ?? 0);
    this.#part = isEmpty || length === "0" ? "nothing" : length !== undefined ? "bytes" : codings[0] ? "chunk" : "all";
    this.#taker.head(head, isEmpty || length !== undefined ? this.#left : null);
    if (this.#part === "nothing") this.#taker.end();
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
    if (end < 0 && bytes.length > maxHeadBytes) throw unreadable("one of its lines is too long");
    if (end < 0) return 0;
    if (bytes[end - 1] !== 13) throw unreadable("it is no HTTP");
    take(bytes.subarray(0, end - 1));
    return end + 1;
  }

  #finish(): void {
    this.#part = "nothing";
    this.#taker.end();
  }
}

/** The number before the extensions of a chunk. */
function chunkSize(line: Buffer): number {
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
  if (at === 0 || next !== undefined && next !== 59 && next !== 32 && next !== 9) throw unreadable("it is no HTTP");
  return size;
}

function unreadable(why: string): BulkheadError {
  return new BulkheadError("network_error", `The model's answer is not passed on: ${why}.`);
}
