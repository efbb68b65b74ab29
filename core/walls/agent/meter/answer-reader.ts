import type { Buffer } from "node:buffer";
import { JsonScan } from "./json-scan.ts";
import { type AnswerFacts, type MeteredProtocol, modelIn } from "./protocol.ts";

const newline = 10;
const carriageReturn = 13;
const field = "data:";
const byteOrderMark = [0xef, 0xbb, 0xbf];

/** Reads the facts of one answer as it passes. */
export class AnswerReader {
  readonly facts: AnswerFacts = {
    tokens_in: null,
    tokens_out: null,
    tokens_cached: null,
    parts: new Map(),
    model: null,
    isFinal: false,
    retryMs: null,
  };
  readonly #scan: JsonScan;
  readonly #telling: string;
  /** Null until the first byte has come. */
  #isJson: boolean | null = null;
  /** Beginning of the line that is read, until it is known to be data or not. */
  #begun = "";
  #line: "begins" | "data" | "other" = "begins";
  /** Whether the event that is read has a line of data, which further ones may go on. */
  #hasData = false;
  /** Whether the last line ended in a return: a newline behind it belongs to the same end. */
  #endedInReturn = false;

  constructor(protocol: MeteredProtocol) {
    this.#telling = protocol.telling;
    this.#scan = new JsonScan(protocol.wanted, (path, value) => {
      if (/model(?:Version)?$/.test(path)) this.facts.model = modelIn(value) ?? this.facts.model;
      else if (value !== null) protocol.read(this.facts, path, value);
    });
  }

  push(piece: Buffer): void {
    if (this.#isJson !== null) return this.#read(piece);
    const start = piece.findIndex((byte) => byte > 32 && !byteOrderMark.includes(byte));
    if (start < 0) return;
    this.#isJson = piece[start] === 123 || piece[start] === 91;
    this.#read(piece.subarray(start));
  }

  #read(piece: Buffer): void {
    if (this.#isJson) this.#scan.push(piece);
    else this.#pushEvents(piece);
  }

  /** Reads server-sent events line by line. Most events tell nothing, which is found out for all of them at once. */
  #pushEvents(piece: Buffer): void {
    // An escaped letter may be one of a key.
    const [telling, escapes] = [new Places(piece, this.#telling), new Places(piece, "\\u00")];
    const [newlines, returns] = [new Places(piece, newline), new Places(piece, carriageReturn)];
    let told = -1;
    let at = this.#endedInReturn && piece[0] === newline ? 1 : 0;
    this.#endedInReturn = false;
    while (at < piece.length) {
      // Once for each event that tells something: between two of them there is no more to leave out.
      if (told < at && this.#line === "begins" && this.#begun === "" && !this.#hasData) {
        told = Math.min(telling.next(at), escapes.next(at));
        const next = lastEventStart(piece, at, told);
        if (next > at) this.#scan.reset();
        at = next;
      }
      const end = Math.min(newlines.next(at), returns.next(at));
      this.#pushLine(piece.subarray(at, end));
      if (end === piece.length) return;
      this.#endLine();
      at = end + 1;
      if (piece[end] !== carriageReturn) continue;
      if (piece[at] === newline) at++;
      else this.#endedInReturn = at === piece.length;
    }
  }

  #pushLine(part: Buffer): void {
    let data = part;
    if (this.#line === "begins") {
      const taken = Math.min(part.length, field.length - this.#begun.length);
      this.#begun += part.toString("latin1", 0, taken);
      data = part.subarray(taken);
      if (this.#begun === field) this.#line = "data";
      else if (!field.startsWith(this.#begun)) this.#line = "other";
    }
    if (this.#line === "data") this.#scan.push(data);
  }

  /** Begins another line. An empty one ends the event; several lines of data are one text. */
  #endLine(): void {
    if (this.#begun === "") this.#scan.reset();
    if (this.#begun === "" || this.#line === "data") this.#hasData = this.#begun !== "";
    this.#begun = "";
    this.#line = "begins";
  }
}

/** Places of a byte or of a text in a piece, which is looked through once. */
class Places {
  readonly #piece: Buffer;
  readonly #mark: number | string;
  #found = -1;

  constructor(piece: Buffer, mark: number | string) {
    this.#piece = piece;
    this.#mark = mark;
  }

  /** Returns the first place from here on; the end of the piece where there is none. */
  next(at: number): number {
    if (this.#found < at) {
      const found = this.#piece.indexOf(this.#mark, at);
      this.#found = found < 0 ? this.#piece.length : found;
    }
    return this.#found;
  }
}

/** Returns the place after the last empty line between two places; the first of them where there is none. */
function lastEventStart(piece: Buffer, from: number, to: number): number {
  for (let end = piece.lastIndexOf(newline, to - 1); end > from; end = piece.lastIndexOf(newline, end - 1)) {
    const before = piece[end - 1] === carriageReturn ? end - 2 : end - 1;
    if (before >= from && piece[before] === newline) return end + 1;
  }
  return from;
}
