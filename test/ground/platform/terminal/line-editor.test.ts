import { PassThrough, Writable } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { openLineEditor } from "../../../../core/ground/platform/terminal/line-editor.ts";

/** A terminal that wraps its lines again when it gets other columns, as most do. */
class Screen extends Writable {
  columns: number;
  /** Lines as they were written, and the cursor in them. */
  readonly #lines = [""];
  #at = { line: 0, offset: 0 };

  constructor(columns: number) {
    super();
    this.columns = columns;
  }

  resize(columns: number): void {
    this.columns = columns;
    this.emit("resize");
  }

  /** The rows that a person sees. */
  rows(): string[] {
    return this.#lines.flatMap((_, line) => this.#wrapped(line)).map((row) => row.trimEnd());
  }

  override _write(chunk: Uint8Array, _encoding: string, done: () => void): void {
    // deno-lint-ignore no-control-regex
    const pieces = /\x1b\[\?\d+[hl]|\x1b\[(\d*)([A-Za-z])|\r?\n|[^\x1b\r\n]|\r/g;
    for (const [piece, count, letter] of String(chunk).matchAll(pieces)) {
      if (letter !== undefined) this.#control(letter, Number(count));
      else if (piece.endsWith("\n")) this.#newLine();
      else if (piece === "\r") this.#column(1);
      else if (!piece.startsWith("\x1b")) this.#put(piece);
    }
    done();
  }

  #put(letter: string): void {
    const { line, offset } = this.#at;
    const text = this.#lines[line]!.padEnd(offset);
    this.#lines[line] = text.slice(0, offset) + letter + text.slice(offset + 1);
    this.#at = { line, offset: offset + 1 };
  }

  #newLine(): void {
    const line = this.#at.line + 1;
    if (line === this.#lines.length) this.#lines.push("");
    this.#at = { line, offset: 0 };
  }

  #control(letter: string, count: number): void {
    if (letter === "G") this.#column(count || 1);
    if (letter === "C") this.#at.offset += count || 1;
    if (letter === "D") this.#at.offset -= count || 1;
    for (let left = letter === "A" ? count : 0; left > 0; left--) this.#up();
    if (letter !== "J" && letter !== "K") return;
    this.#lines[this.#at.line] = this.#lines[this.#at.line]!.slice(0, this.#at.offset);
    if (letter === "J") this.#lines.length = this.#at.line + 1;
  }

  #column(one: number): void {
    this.#at.offset = Math.floor(this.#at.offset / this.columns) * this.columns + one - 1;
  }

  #up(): void {
    const { line, offset } = this.#at;
    if (offset >= this.columns) this.#at = { line, offset: offset - this.columns };
    else if (line > 0) {
      const last = (this.#wrapped(line - 1).length - 1) * this.columns;
      this.#at = { line: line - 1, offset: last + offset };
    }
  }

  #wrapped(line: number): string[] {
    const text = this.#lines[line]!;
    const rows = Math.max(1, Math.ceil(text.length / this.columns));
    return Array.from({ length: rows }, (_, at) => text.slice(at * this.columns, (at + 1) * this.columns));
  }
}

/** A line at such a terminal. */
function open(columns: number) {
  const [input, output] = [new PassThrough(), new Screen(columns)];
  const lines: string[] = [];
  let resizes = 0;
  const line = openLineEditor({
    onLine: (text, { later }) => void lines.push(later ? `later: ${text}` : text),
    onEscape: () => {},
    onInterrupt: () => {},
    onEnd: () => {},
    onResize: () => void resizes++,
  }, { input, output });
  onTestFinished(() => line.close());
  const type = (text: string) => void input.emit("data", text);
  return { line, output, lines, type, resizes: () => resizes };
}

test("a line and what stands above it take their place again at other columns, and nothing else goes", () => {
  const { line, output, type, resizes } = open(40);
  line.show("steer › ", ["⋯ waits: a message of thirty", "⋯ waits: and another one, of 38 letters"]);
  for (let at = 1; at <= 3; at++) line.print(`line ${at}\n`);
  type("half a sentence that has more than one row of it");
  const typed = "steer › half a sentence that has more than one row of it";
  for (const columns of [20, 30, 70, 25, 40, 100]) {
    output.resize(columns);
    line.print(`columns ${columns}\n`);
    const rows = output.rows().join("\n");
    expect(rows.match(/waits: a/g), rows).toHaveLength(2);
    expect(rows.match(/steer ›/g), rows).toHaveLength(1);
    expect(rows, rows).toContain(`line 3\n`);
  }
  expect(output.rows()).toEqual([
    "line 1",
    "line 2",
    "line 3",
    ...[20, 30, 70, 25, 40, 100].map((columns) => `columns ${columns}`),
    "⋯ waits: a message of thirty",
    "⋯ waits: and another one, of 38 letters",
    typed,
  ]);
  expect(resizes()).toBe(6);
});

test("what is typed stays while text is shown above it, and Enter and Alt-Enter leave none of its rows", () => {
  const { line, output, lines, type } = open(20);
  line.show("› ", ["⋯ waits: one that is wider than the terminal"]);
  type("a line of more than two rows, in a terminal");
  line.print("said meanwhile\n");
  type(" of few columns");
  line.print("and more\n");
  const typed = "a line of more than two rows, in a terminal of few columns";
  expect(line.text).toBe(typed);
  expect(output.rows().join("").match(/a line of/g)).toHaveLength(1);
  type("\r");
  type("then this, which has more than a row\x1b\r");
  expect(lines).toEqual([typed, `later: then this, which has more than a row`]);
  line.show("› ", []);
  expect(output.rows()).toEqual(["said meanwhile", "and more", "›"]);
});

test("a pasted text of several lines, and one that is put into the line, is one line's text", () => {
  const { line, output, lines, type } = open(40);
  type("see: \x1b[200~one\r\ntwo\rthree\n\nfour\x1b[201~");
  expect(lines).toEqual([]);
  expect(line.text).toBe("see: one\ntwo\nthree\n\nfour");
  expect(output.rows().join("")).toContain("see: one↵two↵three↵↵four");
  type("\r");
  line.text = "a\nb";
  type("\r");
  type("c\r");
  expect(lines).toEqual(["see: one\ntwo\nthree\n\nfour", "a\nb", "c"]);
});
