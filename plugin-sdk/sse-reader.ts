import { BulkheadError } from "./errors.ts";

/** Most UTF-16 units of one event of a stream. */
const maxEvent = 8 * 1024 * 1024;
const maxOther = 16 * 1024;

/**
 * Reads a stream of server-sent events and returns the `data` of each. Lines end with `\n`, `\r\n` or `\r`; comments,
 * which servers send to keep a connection open, and all other fields are ignored.
 */
export class SseReader {
  #rest = "";
  /** Units of the rest that are known to contain no line end. */
  #scanned = 0;
  #begun = false;
  #data: string[] = [];
  /** True once a line of an event stream has arrived. */
  #isStream = false;
  #other = "";
  #length = 0;

  /**
   * Returns the beginning of the input if no part of it was an event stream: a server that failed may answer with
   * another kind of text. Empty otherwise; complete after {@link end}, up to 16 Ki UTF-16 units.
   */
  get other(): string {
    return this.#other.trim();
  }

  /**
   * Takes a piece cut anywhere and returns the events that it completes.
   * @throws {BulkheadError} `limit_exceeded` for an event longer than any server's
   */
  take(piece: string): string[] {
    this.#rest += piece;
    if (!this.#begun && this.#rest !== "") {
      this.#begun = true;
      if (this.#rest.startsWith("\ufeff")) this.#rest = this.#rest.slice(1);
    }
    const events: string[] = [];
    let from = 0;
    const lineEnd = /\r\n?|\n/g;
    lineEnd.lastIndex = this.#scanned;
    for (let found = lineEnd.exec(this.#rest); found; found = lineEnd.exec(this.#rest)) {
      // A piece may end between the two characters of one line end.
      if (found[0] === "\r" && lineEnd.lastIndex === this.#rest.length) break;
      this.#line(this.#rest.slice(from, found.index), events);
      from = lineEnd.lastIndex;
    }
    this.#rest = this.#rest.slice(from);
    this.#scanned = this.#rest.endsWith("\r") ? this.#rest.length - 1 : this.#rest.length;
    if (this.#rest.length + this.#length > maxEvent) {
      throw new BulkheadError("limit_exceeded", `Cannot read the stream: an event is longer than ${maxEvent}.`);
    }
    return events;
  }

  /** Returns the event that lacks its blank line at the end of the stream, as some servers' last event does. */
  end(): string[] {
    const events: string[] = [];
    this.#line(this.#rest.replace(/\r$/, ""), events);
    this.#line("", events);
    this.#rest = "";
    this.#scanned = 0;
    return events;
  }

  #line(line: string, events: string[]): void {
    if (line === "") {
      if (this.#data.length > 0) events.push(this.#data.join("\n"));
      this.#data = [];
      this.#length = 0;
      return;
    }
    if (!this.#isStream) this.#see(line);
    if (line !== "data" && !line.startsWith("data:")) return;
    const value = line.slice(5).replace(/^ /, "");
    this.#data.push(value);
    this.#length += value.length;
  }

  #see(line: string): void {
    this.#isStream = /^(?:(?:data|event|id|retry)?:|(?:data|event|id|retry)$)/.test(line);
    if (this.#isStream) this.#other = "";
    else if (this.#other.length < maxOther) this.#other += `${line.slice(0, maxOther)}\n`;
  }
}
