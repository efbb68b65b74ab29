import { type TextSink, throughWrite } from "../../../ground/platform/terminal/standard-streams.ts";
import type { Terminal } from "../../../ground/platform/terminal/terminal.ts";
import { startBackgroundTimer } from "../../../ground/platform/engine/background-timer.ts";
import { isPlain } from "../render/paint.ts";
import { withoutColours } from "../render/agent-text.ts";
import { textWidth } from "../render/text-width.ts";

/** How often the line is drawn while nothing else is written. Milliseconds. */
const everyMs = 120;

/** Moves to the first column, and erases the line, or all below as well (ECMA-48, 8.3.41 and 8.3.39). */
const eraseLine = "\r\u001b[K";
const eraseDown = "\r\u001b[J";

/** Rows of an unfinished line above which nothing is drawn below it. */
const mostRows = 3;

/** Line at the bottom of a {@link StatusScreen}. */
interface StatusLine {
  /** Draws the line, in at most so many columns. */
  draw(columns: number): string;
  /** Called for each key that is pressed. */
  onKey?: ((key: string) => void) | undefined;
}

/** A terminal with one line that stays at the bottom while all that is written stands above it. */
export class StatusScreen {
  /** The terminal for everything else. */
  readonly terminal: Terminal;
  readonly #real: Terminal;
  #line: StatusLine | null = null;
  #isDrawn = false;
  /** Text after the last line's end. */
  #tail = "";
  /** Lines that a person types now. */
  #typed = 0;
  #cancel: () => void = () => {};

  constructor(terminal: Terminal) {
    this.#real = terminal;
    const { stdin } = terminal;
    this.terminal = {
      ...terminal,
      stdin: {
        isTty: stdin.isTty,
        chunks: () => stdin.chunks(),
        readAll: (maxBytes) => stdin.readAll(maxBytes),
        readLine: (signal) => this.#whileTyped(() => stdin.readLine(signal)),
        readHiddenLine: () => this.#whileTyped(() => stdin.readHiddenLine()),
        onKey: (handler) => stdin.onKey(handler),
      },
      stdout: this.#above(terminal.stdout),
      stderr: this.#above(terminal.stderr),
    };
  }

  /** Opens one where a person watches both outputs, on a terminal that can erase; undefined elsewhere. */
  static of(terminal: Terminal): StatusScreen | undefined {
    const { stdout, stderr } = terminal;
    const moves = stdout.isTty && stderr.isTty && !isPlain(terminal) && terminal.env("TERM") !== "dumb";
    return moves ? new StatusScreen(terminal) : undefined;
  }

  /** Keeps a line at the bottom. Returns how to remove it. */
  show(line: StatusLine): () => void {
    this.#line = line;
    const stopKeys = line.onKey === undefined ? () => {} : this.#real.stdin.onKey(line.onKey);
    this.#put(this.#real.stdout, "");
    this.#later();
    return () => {
      if (this.#line !== line) return;
      stopKeys();
      this.#cancel();
      this.#put(this.#real.stdout, "", { isLast: true });
      this.#line = null;
    };
  }

  #later(): void {
    this.#cancel = startBackgroundTimer(() => {
      if (this.#isDrawn) void this.#real.stdout.write(`${eraseLine}${this.#drawn()}`);
      else this.#put(this.#real.stdout, "");
      this.#later();
    }, everyMs);
  }

  #drawn(): string {
    // The last column stays free: there some terminals begin another line.
    return this.#line?.draw(this.#columns - 1) ?? "";
  }

  get #columns(): number {
    return this.#real.stdout.columns || 80;
  }

  #above(sink: TextSink): TextSink {
    return throughWrite(sink, (text) => {
      if (this.#line === null || typeof text !== "string") return sink.write(text);
      return this.#put(sink, text);
    });
  }

  /** Writes a text, and the line below it. */
  #put(sink: TextSink, text: string, { isLast = false } = {}): Promise<void> {
    const erased = this.#erased();
    const whole = (erased === "" ? "" : this.#tail) + text;
    this.#tail = (this.#tail + text).split("\n").at(-1) ?? "";
    this.#isDrawn = !isLast && this.#typed === 0 && this.#rows() <= mostRows;
    const below = this.#isDrawn ? `${this.#tail === "" ? "" : "\n"}${this.#drawn()}` : "";
    const out = erased + whole + below;
    return out === "" ? Promise.resolve() : sink.write(out);
  }

  /** Erases the line, and the unfinished one above it. */
  #erased(): string {
    if (!this.#isDrawn) return "";
    const up = this.#tail === "" ? 0 : this.#rows();
    return (up === 0 ? "" : `\u001b[${up}A`) + eraseDown;
  }

  #rows(): number {
    return Math.ceil(textWidth(withoutColours(this.#tail)) / this.#columns);
  }

  /** Leaves the bottom to what is typed. */
  async #whileTyped(read: () => Promise<string | null>): Promise<string | null> {
    this.#typed += 1;
    if (this.#line !== null) void this.#put(this.#real.stdout, "");
    try {
      const line = await read();
      // The terminal has ended the line that was typed.
      if (line !== null) this.#tail = "";
      return line;
    } finally {
      this.#typed -= 1;
    }
  }
}
