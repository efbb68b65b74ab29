import type { Terminal } from "../../ground/platform/terminal/terminal.ts";
import { Sequence } from "../../ground/platform/engine/sequence.ts";
import { safeLine, safeText } from "./render/agent-text.ts";

/** One answer that a question offers. */
interface Choice<T> {
  /** The word to type; the letter in brackets is enough, and case does not matter. */
  word: string;
  value: T;
}

interface ChooseOptions<T> {
  choices: readonly Choice<T>[];
  /** Withdraws the question. */
  signal?: AbortSignal | undefined;
}

/** Asks the person at the terminal, one question at a time; other output waits meanwhile. */
export class Questions {
  readonly #terminal: Terminal;
  readonly #turns = new Sequence();
  #asking = 0;
  #held = "";

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Whether a person can be asked: the input and the output for questions must both be a terminal. */
  static possible(terminal: Terminal): boolean {
    return terminal.stdin.isTty && terminal.stderr.isTty;
  }

  get isAsking(): boolean {
    return this.#asking > 0;
  }

  /** Writes to standard output, after the question if there is one. */
  async write(text: string): Promise<void> {
    if (this.#asking > 0) this.#held += text;
    else await this.#terminal.stdout.write(text);
  }

  /** Returns the value of the chosen answer; null when the question was withdrawn or the input has ended. */
  async choose<T>(question: string, { choices, signal }: ChooseOptions<T>): Promise<T | null> {
    const keys = keysOf(choices.map(({ word }) => word));
    const words = choices.map(({ word }, index) => safeLine(marked(word, keys[index] ?? ""))).join("  ");
    const wanted = `${keys.slice(0, -1).join(", ")} or ${keys.at(-1)}, please.`;
    return await this.#inTurn(async () => {
      await this.#terminal.stderr.write(`\n${safeText(question)}\n`);
      while (!signal?.aborted) {
        const typed = await this.#line(`  ${words} › `, signal);
        if (typed === null) break;
        const choice = matching(typed, choices, keys);
        if (choice !== undefined) return choice.value;
        if (typed.trim() !== "") await this.#terminal.stderr.write(`  ${safeLine(wanted)}\n`);
      }
      return null;
    });
  }

  /** Returns a line of free text; null when the question was withdrawn or the input has ended. */
  async text(question: string, signal?: AbortSignal): Promise<string | null> {
    return await this.#inTurn(async () => {
      await this.#terminal.stderr.write(`\n${safeText(question)}\n`);
      return await this.#line("  › ", signal);
    });
  }

  async #line(prompt: string, signal?: AbortSignal): Promise<string | null> {
    if (signal?.aborted) return null;
    await this.#terminal.stderr.write(prompt);
    const line = await this.#terminal.stdin.readLine(signal);
    if (line === null) await this.#terminal.stderr.write("\n");
    return line;
  }

  #inTurn<T>(ask: () => Promise<T>): Promise<T> {
    return this.#turns.run(async () => {
      this.#asking += 1;
      try {
        return await ask();
      } finally {
        this.#asking -= 1;
        const held = this.#held;
        this.#held = "";
        await this.#terminal.stdout.write(held);
      }
    });
  }
}

/** A key for each word: its first letter that no earlier word has taken, or the whole word. */
function keysOf(words: readonly string[]): string[] {
  const keys: string[] = [];
  for (const word of words) {
    keys.push(
      [...word.toLowerCase()].find((letter) => /\w/.test(letter) && !keys.includes(letter)) ?? word.toLowerCase(),
    );
  }
  return keys;
}

/** The word with its key in brackets: `[c]ode`, `c[l]i`. */
function marked(word: string, key: string): string {
  const at = word.toLowerCase().indexOf(key);
  return `${word.slice(0, at)}[${word.slice(at, at + key.length)}]${word.slice(at + key.length)}`;
}

function matching<T>(
  typed: string,
  choices: readonly Choice<T>[],
  keys: readonly string[],
): Choice<T> | undefined {
  const word = typed.trim().toLowerCase();
  if (word === "") return undefined;
  const begun = choices.filter((choice) => choice.word.toLowerCase().startsWith(word));
  return choices.find((choice, index) => choice.word.toLowerCase() === word || keys[index] === word) ??
    (begun.length === 1 ? begun[0] : undefined);
}
