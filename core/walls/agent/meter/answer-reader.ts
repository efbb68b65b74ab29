import type { Buffer } from "node:buffer";
import { JsonScan } from "./json-scan.ts";
import type { AnswerFacts, MeteredProtocol } from "./protocol.ts";

const newline = 10;
const carriageReturn = 13;
const field = "data:";

/** Reads the facts of one answer as it passes. */
export class AnswerReader {
  readonly facts: AnswerFacts = {
    tokens_in: null,
    tokens_out: null,
    tokens_cached: null,
    model: null,
    isFinal: false,
    retryMs: null,
  };
  readonly #scan: JsonScan;
  readonly #telling: string;
  /** Null until the first byte has come. */
  #isJson: boolean | null = null;
  /** Of the line that is read: its beginning, until it is known to be data or not. */
  #begun = "";
  #line: "begins" | "data" | "other" = "begins";

  constructor(protocol: MeteredProtocol) {
    this.#telling = protocol.telling;
    this.#scan = new JsonScan(protocol.wanted, (path, value) => protocol.read(this.facts, path, value));
  }

  push(piece: Buffer): void {
    this.#isJson ??= beginsJson(piece);
    if (this.#isJson === null) return;
    if (this.#isJson) this.#scan.push(piece);
    else this.#pushEvents(piece);
  }

  /** Reads server-sent events line by line. Most events tell nothing, which is found out for all of them at once. */
  #pushEvents(piece: Buffer): void {
    let told = -2;
    let at = 0;
    while (at < piece.length) {
      // Once for each event that tells something: between two of them there is no more to leave out.
      if (told !== -1 && told < at && this.#line === "begins" && this.#begun === "") {
        told = piece.indexOf(this.#telling, at);
        const next = lastEventStart(piece, at, told < 0 ? piece.length : told);
        if (next > at) this.#scan.reset();
        at = next;
      }
      const end = piece.indexOf(newline, at);
      this.#pushLine(piece.subarray(at, end < 0 ? piece.length : end));
      if (end < 0) return;
      this.#endLine();
      at = end + 1;
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
    if (this.#begun.trim() === "") this.#scan.reset();
    this.#begun = "";
    this.#line = "begins";
  }
}

/** Whether JSON begins; null while there are only blanks. */
function beginsJson(piece: Buffer): boolean | null {
  const first = piece.find((byte) => byte > 32);
  return first === undefined ? null : first === 123 || first === 91;
}

/** Returns the place after the last empty line between two places; the first of them where there is none. */
function lastEventStart(piece: Buffer, from: number, to: number): number {
  for (let end = piece.lastIndexOf(newline, to - 1); end > from; end = piece.lastIndexOf(newline, end - 1)) {
    const before = piece[end - 1] === carriageReturn ? end - 2 : end - 1;
    if (before >= from && piece[before] === newline) return end + 1;
  }
  return from;
}
