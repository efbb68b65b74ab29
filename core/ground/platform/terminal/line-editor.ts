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
  /** Sets what stands before the line, and the lines above it. Safe for a terminal. */
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
  /** The terminal has other columns. */
  onResize(): void;
}

/** Has the terminal say where a pasted text begins and ends, as xterm's control sequences have it; and no longer. */
const tellsPastes = "\x1b[?2004h";
const tellsPastesNot = "\x1b[?2004l";

/** Sequences that it sends then, but for the last letter. */
const pasteBorders: ReadonlyMap<string, "start" | "end"> = new Map([["\x1b[200", "start"], ["\x1b[201", "end"]]);

/** Stands in the typed line for the end of a line: readline would take that for Enter. */
const lineEnd = "↵";

/** Streams of a terminal. */
interface TerminalStreams {
  input: NodeJS.ReadableStream;
  output: NodeJS.WritableStream & { columns?: number };
}

/** Opens a line at a terminal, by default the process's, which must have one for input and error output. */
export function openLineEditor(
  handlers: LineHandlers,
  streams: TerminalStreams = { input: process.stdin, output: process.stderr },
): LineEditor {
  return new ReadlineEditor(handlers, streams);
}

class ReadlineEditor implements LineEditor {
  readonly #line: Interface;
  readonly #input: TerminalStreams["input"];
  readonly #output: TerminalStreams["output"];
  /** With the lines above, so that readline counts their rows as well, at any width of the terminal. */
  #prompt = "› ";
  /** Rows of the line that Enter ends and of the lines above it, but for the first one. */
  #ended = 0;
  #isClosed = false;
  /** The key before, of a text that is being pasted; null else. */
  #pasted: string | null = null;
  #isAtBorder = false;
  readonly #onKey: (typed: string, key: Key) => void;
  readonly #onResize: () => void;
  readonly #beforeKey = (_typed: string, key: Key) => {
    const { name = "", sequence = "" } = key ?? {};
    const before = this.#pasted;
    const border = pasteBorders.get(sequence.replace(/~$/, "")) ?? null;
    if (border === "start" || before !== null) this.#pasted = border === "end" ? null : name;
    // One of the runtimes takes the border's last letter for a key.
    const isRest = sequence === "~" && this.#isAtBorder;
    this.#isAtBorder = border !== null && !sequence.endsWith("~");
    if (isRest) return ignore(key);
    if (name !== "return" && name !== "enter") return;
    if (before !== null) {
      ignore(key);
      if (before !== "return" || name !== "enter") this.#line.write(lineEnd);
      return;
    }
    this.#line.write(null, { ctrl: true, name: "e" });
    this.#ended = this.#line.getCursorPos().rows;
  };

  constructor({ onLine, onEscape, onInterrupt, onEnd, onResize }: LineHandlers, { input, output }: TerminalStreams) {
    this.#input = input;
    this.#output = output;
    emitKeypressEvents(input);
    const others = output.listeners("resize");
    this.#line = createInterface({ input, output, terminal: true, historySize: 100 });
    // Readline would go up by the rows of the old width, and remove text that stands above the line.
    for (const its of output.listeners("resize")) if (!others.includes(its)) output.off("resize", its as () => void);
    this.#line.on("line", (text) => {
      // Readline leaves the line on the screen: who takes it shows what came of it.
      this.#erase(this.#ended + 1);
      this.#draw();
      onLine(text.replaceAll(lineEnd, "\n"), { later: false });
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
    this.#onResize = () => {
      this.#erase();
      this.#draw();
      onResize();
    };
    input.on("keypress", this.#onKey);
    input.prependListener("keypress", this.#beforeKey);
    output.on("resize", this.#onResize);
    output.write(tellsPastes);
    this.#draw();
  }

  get columns(): number {
    return this.#output.columns || 80;
  }

  get text(): string {
    return this.#line.line.replaceAll(lineEnd, "\n");
  }

  set text(text: string) {
    this.#line.write(null, { ctrl: true, name: "e" });
    this.#line.write(null, { ctrl: true, name: "u" });
    if (text !== "") this.#line.write(text.replaceAll(/\r?\n|\r/g, lineEnd));
  }

  print(text: string): void {
    if (this.#isClosed) return void this.#output.write(text);
    this.#erase();
    this.#output.write(text);
    this.#draw();
  }

  show(prompt: string, above: readonly string[]): void {
    this.#erase();
    this.#prompt = [...above, prompt].join("\n");
    this.#draw();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#erase();
    this.#output.write(tellsPastesNot);
    this.#input.off("keypress", this.#onKey);
    this.#input.off("keypress", this.#beforeKey);
    this.#output.off("resize", this.#onResize);
    this.#line.close();
  }

  /** Removes the typed line, and what is drawn above it, from `rows` above the cursor on. */
  #erase(rows: number = this.#line.getCursorPos().rows): void {
    moveCursor(this.#output, 0, -rows);
    cursorTo(this.#output, 0);
    clearScreenDown(this.#output);
  }

  #draw(): void {
    this.#line.setPrompt(this.#prompt);
    // It would go up by the rows of the line as it was drawn before.
    Reflect.set(this.#line, "prevRows", 0);
    this.#line.prompt(true);
  }
}

/** Makes of a key one that readline does not know. */
function ignore(key: Key): void {
  Object.assign(key, { ctrl: true, name: "ignored" });
}
