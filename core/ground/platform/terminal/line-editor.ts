import process from "node:process";
import {
  clearScreenDown,
  createInterface,
  cursorTo,
  emitKeypressEvents,
  type Interface,
  type Key,
  moveCursor,
} from "node:readline";

/** A line that a person types below everything that is shown. */
export interface LineEditor {
  /** Shows text above the line; it ends with a line's end. */
  print(text: string): void;
  /** Sets what stands before the line, and the lines above it. Safe for a terminal, no wider than it is. */
  show(prompt: string, above: readonly string[]): void;
  /** The text that is typed. */
  text: string;
  /** Columns of the terminal. */
  readonly columns: number;
  close(): void;
}

/** Handlers of a person's acts at a {@link LineEditor}. */
export interface LineHandlers {
  /** Enter; `later` with Alt. */
  onLine(text: string, options: { later: boolean }): void;
  onEscape(): void;
  /** Ctrl-C. */
  onInterrupt(): void;
  /** Ctrl-D on an empty line, or the terminal is gone. */
  onEnd(): void;
}

/** Opens a line at the process's terminal, which must have one for input and error output. */
export function openLineEditor(handlers: LineHandlers): LineEditor {
  return new ReadlineEditor(handlers);
}

class ReadlineEditor implements LineEditor {
  readonly #line: Interface;
  readonly #output = process.stderr;
  #prompt = "› ";
  #above: readonly string[] = [];
  /** Rows above the typed line that are drawn. */
  #drawn = 0;
  /** Rows of the line that Enter ends, but for the first one. */
  #ended = 0;
  #isClosed = false;
  readonly #onKey: (typed: string, key: Key) => void;
  readonly #onResize = () => this.#redraw();
  readonly #beforeKey = (_typed: string, key: Key) => {
    if (key?.name !== "return" && key?.name !== "enter") return;
    this.#line.write(null, { ctrl: true, name: "e" });
    this.#ended = this.#line.getCursorPos().rows;
  };

  constructor({ onLine, onEscape, onInterrupt, onEnd }: LineHandlers) {
    emitKeypressEvents(process.stdin);
    this.#line = createInterface({ input: process.stdin, output: this.#output, terminal: true, historySize: 100 });
    this.#line.on("line", (text) => {
      // Readline leaves the line on the screen: who takes it shows what came of it.
      moveCursor(this.#output, 0, -1 - this.#ended);
      this.#erase();
      this.#draw();
      onLine(text, { later: false });
    });
    this.#line.on("SIGINT", onInterrupt);
    this.#line.on("close", () => {
      if (!this.#isClosed) onEnd();
    });
    this.#onKey = (_typed, key) => {
      if (key?.name === "escape") onEscape();
      if (key?.meta !== true || (key.name !== "return" && key.name !== "enter")) return;
      const { text } = this;
      this.text = "";
      onLine(text, { later: true });
    };
    process.stdin.on("keypress", this.#onKey);
    process.stdin.prependListener("keypress", this.#beforeKey);
    this.#output.on("resize", this.#onResize);
    this.#redraw();
  }

  get columns(): number {
    return this.#output.columns || 80;
  }

  get text(): string {
    return this.#line.line;
  }

  set text(text: string) {
    this.#line.write(null, { ctrl: true, name: "e" });
    this.#line.write(null, { ctrl: true, name: "u" });
    if (text !== "") this.#line.write(text);
  }

  print(text: string): void {
    if (this.#isClosed) return void this.#output.write(text);
    this.#erase();
    this.#output.write(text);
    this.#draw();
  }

  show(prompt: string, above: readonly string[]): void {
    this.#erase();
    this.#prompt = prompt;
    this.#above = above;
    this.#draw();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#erase();
    process.stdin.off("keypress", this.#onKey);
    process.stdin.off("keypress", this.#beforeKey);
    this.#output.off("resize", this.#onResize);
    this.#line.close();
  }

  #redraw(): void {
    this.#erase();
    this.#draw();
  }

  /** Removes the typed line, and what is drawn above it. */
  #erase(): void {
    const { rows } = this.#line.getCursorPos();
    moveCursor(this.#output, 0, -rows - this.#drawn);
    cursorTo(this.#output, 0);
    clearScreenDown(this.#output);
    this.#drawn = 0;
  }

  #draw(): void {
    for (const line of this.#above) this.#output.write(`${line}\n`);
    this.#drawn = this.#above.length;
    this.#line.setPrompt(this.#prompt);
    // It would go up by the rows of the line as it was drawn before.
    Reflect.set(this.#line, "prevRows", 0);
    this.#line.prompt(true);
  }
}
