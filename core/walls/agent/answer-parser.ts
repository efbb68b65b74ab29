import { Buffer } from "node:buffer";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { isPacked, packedMark } from "../../ground/checks/packed-bytes.ts";
import { BodyParser, endOfBody, HeldBytes } from "./body-parser.ts";
import { type AnswerHead, maxHeadBytes, parseAnswerHead, valuesOf } from "./http-head.ts";

/** Takes the parts of an answer as they come. */
interface AnswerTaker {
  /** @param body whether its length is known; else it ends with a mark, or with the connection */
  head(head: AnswerHead, body: { hasLength: boolean }): void;
  body(piece: Buffer): void;
  end(): void;
}

/** Interim answers. */
const mostInterim = 20;

/** Parses one answer of a server (RFC 9112), whatever pieces it comes in. Trailers are dropped. */
export class AnswerParser {
  readonly #method: string;
  readonly #taker: AnswerTaker;
  readonly #held = new HeldBytes();
  #interim = 0;
  #body: BodyParser | null = null;
  /** The first bytes of the body. */
  #start: Buffer = Buffer.alloc(0);

  constructor(method: string, taker: AnswerTaker) {
    this.#method = method;
    this.#taker = taker;
  }

  /** @throws {BulkheadError} `network_error` for bytes that are no answer, or one that cannot be looked through */
  push(piece: Buffer): void {
    const rest = this.#held.push(piece, (bytes) => this.#body === null ? this.#takeHead(bytes) : null);
    this.#body?.push(rest);
  }

  /** The connection has ended; false when the answer had not. */
  close(): boolean {
    return this.#body?.close() ?? false;
  }

  /** Takes a head; returns its length, or 0 while it is not whole. */
  #takeHead(bytes: Buffer): number {
    const end = bytes.indexOf("\r\n\r\n");
    if (end > maxHeadBytes || end < 0 && bytes.length > maxHeadBytes) throw unreadable("its head is too long");
    if (end < 0) return 0;
    const head = parseAnswerHead(bytes.toString("latin1", 0, end));
    if (head === null) throw unreadable("it is no HTTP");
    if (head.status === 101) throw unreadable("it changes the protocol");
    // Interim answers say nothing that a client must know.
    if (head.status >= 200) this.#begin(head);
    else if (++this.#interim > mostInterim) throw unreadable("too many others come before it");
    return end + 4;
  }

  /** Looks how a body begins: one may be encoded without a word. */
  #look(piece: Buffer): void {
    if (this.#start.length >= packedMark) return;
    this.#start = Buffer.concat([this.#start, piece.subarray(0, packedMark)]);
    if (isPacked(this.#start)) throw encoded();
  }

  #begin(head: AnswerHead): void {
    const encodings = valuesOf(head.headers, "content-encoding").filter((one) => !/^(?:identity)?$/i.test(one));
    const isEmpty = this.#method === "HEAD" || head.status === 204 || head.status === 304;
    const said = endOfBody(head);
    if (said === null) throw unreadable("it does not say once where it ends");
    if (encodings.length > 0 && !isEmpty) throw encoded();
    const end = isEmpty ? 0 : said === "unsaid" ? "connection" : said;
    this.#taker.head(head, { hasLength: typeof end === "number" });
    const taker = {
      body: (piece: Buffer) => {
        this.#look(piece);
        this.#taker.body(piece);
      },
      end: () => this.#taker.end(),
    };
    this.#body = new BodyParser(end, { taker, refused: unreadable });
  }
}

function encoded(): BulkheadError {
  return unreadable("it is encoded, which was not asked for");
}

/** Makes the error for an answer that a client cannot have. */
export function unreadable(why: string): BulkheadError {
  return new BulkheadError("network_error", `The model's answer is not passed on: ${why}.`);
}
