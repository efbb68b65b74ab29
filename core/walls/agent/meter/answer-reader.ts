import type { Buffer } from "node:buffer";
import { JsonScan } from "./json-scan.ts";
import type { AnswerFacts, MeteredProtocol } from "./protocol.ts";

const newline = 10;
const field = "data:";

/** Ends of events. */
const emptyLines = ["\n\n", "\n\r\n"] as const;

/** Words of the events that tell something. */
const telling = ["usage", "error"];

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
  /** Null until the first byte has come. */
  #isJson: boolean | null = null;
  /** Of the line that is read: its beginning, until it is known to be data or not. */
  #begun = "";
  #line: "begins" | "data" | "other" = "begins";

  constructor(protocol: MeteredProtocol) {
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
    const told = telling.map((word) => ({ word, at: piece.indexOf(word) }));
    let at = 0;
    while (at < piece.length) {
      if (this.#line === "begins" && this.#begun === "") {
        const next = afterSilent(piece, at, told);
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

/** Returns the beginning of the next event that tells something, or else of the last one. */
function afterSilent(piece: Buffer, at: number, told: { word: string; at: number }[]): number {
  let next = Infinity;
  for (const one of told) {
    if (one.at >= 0 && one.at < at) one.at = piece.indexOf(one.word, at);
    if (one.at >= 0) next = Math.min(next, one.at);
  }
  if (next === at) return at;
  const silent = piece.subarray(at, Math.min(next, piece.length));
  const ends = emptyLines.map((line) => [silent.lastIndexOf(line), line.length] as const);
  return at + Math.max(0, ...ends.map(([end, length]) => end < 0 ? 0 : end + length));
}
