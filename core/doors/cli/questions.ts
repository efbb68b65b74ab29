import type { Terminal } from "../../ground/platform/terminal/terminal.ts";
import { Sequence } from "../../ground/platform/engine/sequence.ts";
import { isPlain } from "./render/paint.ts";
import { safeLine, safeText } from "./render/agent-text.ts";
import { wrapLines } from "./render/text-width.ts";

/** One answer that a question offers. */
export interface Choice<T> {
  /** The word to type; the letter in brackets is enough, and case does not matter. */
  word: string;
  value: T;
}

interface ChooseOptions<T> {
  choices: readonly Choice<T>[];
  /** Withdraws the question. */
  signal?: AbortSignal | undefined;
  /** Shown below the question as it is: safe for a terminal, and ending with a line's end. */
  below?: string | undefined;
  /** Said to the person whose question was withdrawn. */
  withdrawn?: string | undefined;
}

/** Output that waits behind a question at most. Characters. */
const mostHeld = 65_536;

/** Asks the person at the terminal, one question at a time; other output waits meanwhile, and is never lost. */
export class Questions {
  readonly #terminal: Terminal;
  readonly #turns = new Sequence();
  readonly #over = new AbortController();
  /** The open question and its prompt, to show them again; null while there is none. */
  #asked: { question: string; prompt: string } | null = null;
  #held = "";

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Whether a person can be asked: the input and the output for questions must both be a terminal. */
  static possible(terminal: Terminal): boolean {
    return terminal.stdin.isTty && terminal.stderr.isTty;
  }

  /** Stands before what is typed. */
  get #cursor(): string {
    return isPlain(this.#terminal) ? ":" : "›";
  }

  get isAsking(): boolean {
    return this.#asked !== null;
  }

  /** Writes to standard output, after the question if there is one. */
  async write(text: string): Promise<void> {
    if (this.#asked === null) return await this.#terminal.stdout.write(text);
    this.#held += text;
    if (this.#held.length > mostHeld) await this.flush();
  }

  /** Shows what waits behind a question, and the question once more below it. */
  async flush(): Promise<void> {
    const held = this.#taken();
    if (held === "" || this.#asked === null) return;
    const { question, prompt } = this.#asked;
    await this.#terminal.stderr.write("\n");
    await this.#terminal.stdout.write(held.endsWith("\n") ? held : `${held}\n`);
    await this.#terminal.stderr.write(question + prompt);
  }

  /** Withdraws the open question and all later ones. Returns once the terminal shows what waited behind them. */
  async close(): Promise<void> {
    this.#over.abort();
    await this.#turns.run(() => Promise.resolve());
  }

  /** Returns the value of the chosen answer; null when the question was withdrawn or the input has ended. */
  async choose<T>(question: string, options: ChooseOptions<T>): Promise<T | null> {
    const { choices, withdrawn, below } = options;
    const signal = this.#until(options.signal);
    const keys = keysOf(choices.map(({ word }) => word));
    const words = choices.map(({ word }, index) => safeLine(marked(word, keys[index] ?? ""))).join("  ");
    const wanted = `${keys.slice(0, -1).join(", ")} or ${keys.at(-1)}, please.`;
    return await this.#inTurn({ question, below, signal }, async () => {
      while (!signal.aborted) {
        const typed = await this.#line(`  ${words} ${this.#cursor} `, signal);
        if (typed === null) break;
        const choice = matching(typed, choices, keys);
        if (choice !== undefined) return choice.value;
        if (typed.trim() !== "") await this.#terminal.stderr.write(`  ${safeLine(wanted)}\n`);
      }
      if (signal.aborted && withdrawn !== undefined) await this.#terminal.stderr.write(`  ${safeLine(withdrawn)}\n`);
      return null;
    });
  }

  /** Returns a line of free text; null when the question was withdrawn or the input has ended. */
  async text(question: string, signal?: AbortSignal): Promise<string | null> {
    const until = this.#until(signal);
    return await this.#inTurn({ question, signal: until }, () => this.#line(`  ${this.#cursor} `, until));
  }

  #until(signal: AbortSignal | undefined): AbortSignal {
    return signal === undefined ? this.#over.signal : AbortSignal.any([signal, this.#over.signal]);
  }

  async #line(prompt: string, signal: AbortSignal): Promise<string | null> {
    if (signal.aborted) return null;
    if (this.#asked !== null) this.#asked.prompt = prompt;
    await this.#terminal.stderr.write(prompt);
    const line = await this.#terminal.stdin.readLine(signal);
    if (line === null) await this.#terminal.stderr.write("\n");
    return line;
  }

  /** Shows a question in its turn; one that was withdrawn before is never shown. */
  #inTurn<T>(
    { question, below = "", signal }: { question: string; below?: string | undefined; signal: AbortSignal },
    ask: () => Promise<T>,
  ): Promise<T | null> {
    return this.#turns.run(async () => {
      if (signal.aborted) return null;
      this.#asked = {
        question: `\n${wrapLines(safeText(question), this.#terminal.stderr.columns)}\n${below}`,
        prompt: "",
      };
      try {
        await this.#terminal.stderr.write(this.#asked.question);
        return await ask();
      } finally {
        this.#asked = null;
        await this.#terminal.stdout.write(this.#taken());
      }
    });
  }

  #taken(): string {
    const held = this.#held;
    this.#held = "";
    return held;
  }
}

/** A key for each word: its first letter that no earlier word has taken, or the whole word. */
export function keysOf(words: readonly string[]): string[] {
  const keys: string[] = [];
  for (const word of words) {
    keys.push(
      [...word.toLowerCase()].find((letter) => /\w/.test(letter) && !keys.includes(letter)) ?? word.toLowerCase(),
    );
  }
  return keys;
}

/** The word with its key in brackets: `[c]ode`, `c[l]i`. */
export function marked(word: string, key: string): string {
  const at = word.toLowerCase().indexOf(key);
  return `${word.slice(0, at)}[${word.slice(at, at + key.length)}]${word.slice(at + key.length)}`;
}

/** Returns the choice that was typed: its word, its key or its beginning. */
export function matching<T>(
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
