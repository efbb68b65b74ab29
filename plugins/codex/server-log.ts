/** The beginning of an entry in a log: a time, a level and a part of Codex, in colours or not. */
const entry = /^\S*\d{4}-\d\d-\d\dT[\d:.]+Z\S*\s+\S*(?:ERROR|WARN|INFO|DEBUG|TRACE)\S*\s+\S*codex_/;

/** Tells lines of the server's own log, which says what its messages say, from what else it prints. */
export class ServerLog {
  #isOpen = false;

  /** Whether a line of the error output is one of the log; pass all of them, in order. */
  takes(line: string): boolean {
    // An entry of several lines goes on with blanks.
    this.#isOpen = entry.test(line) || (this.#isOpen && /^(?:\s|$)/.test(line));
    return this.#isOpen;
  }
}
