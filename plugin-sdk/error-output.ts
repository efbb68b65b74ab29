import type { AdapterEvent } from "./events.ts";
import { textsIn } from "./json-fields.ts";

const maxLines = 50;
const maxLineLength = 4096;
const maxToolText = 256 * 1024;
/** Lines of this length and shorter, such as a brace, say too little to tell whose they are. */
const tooShort = 3;

/** Knows what an agent's tools print, which some programs copy to their own error output. */
export class ToolOutput {
  readonly #running = new Set<string>();
  #printed = "";

  /** Returns true while a tool runs: what comes on the error output may then be its own. */
  get isRunning(): boolean {
    return this.#running.size > 0;
  }

  /** Takes an event of the agent's; pass all of them, in order. */
  take(event: AdapterEvent): void {
    if (event.type === "tool_call") this.#running.add(event.call_id);
    if (event.type !== "tool_result") return;
    this.#running.delete(event.call_id);
    this.#printed = `${this.#printed}\n${textsIn(event.output).join("\n")}`.slice(-maxToolText);
  }

  /** Returns true for a line that stands in what a tool has printed. */
  hasPrinted(line: string): boolean {
    const text = line.trim();
    return text.length > tooShort && this.#printed.includes(text);
  }
}

/** Keeps the end of a program's error output, and tells what the program wrote from what its tools printed. */
export class ErrorOutput {
  readonly #tools = new ToolOutput();
  #lines: { text: string; foreign: boolean }[] = [];
  #isOpen = false;

  take(event: AdapterEvent): void {
    this.#tools.take(event);
    if (event.type !== "output" || event.stream !== "stderr") return;
    const foreign = this.#tools.isRunning;
    const [first = "", ...lines] = event.data.replace(/\r?\n$/, "").split("\n");
    // The rest of a line that was shown before its end came.
    const begun = this.#isOpen ? this.#lines.pop()?.text ?? "" : "";
    this.#isOpen = !event.data.endsWith("\n");
    const added = [begun + first, ...lines].slice(-maxLines);
    this.#lines.push(...added.map((line) => ({ text: line.slice(0, maxLineLength), foreign })));
    this.#lines = this.#lines.slice(-maxLines);
  }

  /**
   * Returns the last statements that the program itself wrote, at most `count`, the last one first. A statement is a
   * line with the indented ones that follow it, such as a stack.
   */
  statements(count: number): string[] {
    const statements: string[] = [];
    let below: string[] = [];
    for (const line of this.#own().reverse()) {
      below.unshift(line);
      if (/^\s/.test(line) || line === "") continue;
      statements.push(below.join("\n").trimEnd());
      below = [];
      if (statements.length === count) return statements;
    }
    const first = below.join("\n").trim();
    return first === "" ? statements : [...statements, first];
  }

  /** Returns its last lines, also those of tools. */
  tail(count: number): string {
    return this.#lines.slice(-count).map(({ text }) => text).join("\n").trim();
  }

  #own(): string[] {
    return this.#lines.filter(({ text, foreign }) => !foreign && !this.#tools.hasPrinted(text))
      .map(({ text }) => text);
  }
}
