import { type Choice, keysOf, marked, matching } from "../questions.ts";
import { safeLine, safeText } from "../render/agent-text.ts";

/** A question that the typed line answers now. */
interface Asked {
  prompt: string;
  /** Takes what was typed; false where it is no answer. */
  take(typed: string): boolean;
}

interface ChatQuestionsOptions {
  print(text: string): void;
  /** The line's meaning has changed. */
  onChange(): void;
}

/** An agent's questions in a chat, one at a time: while one is open, the typed line is its answer. */
export class ChatQuestions {
  readonly #options: ChatQuestionsOptions;
  readonly #waiting: Asked[] = [];

  constructor(options: ChatQuestionsOptions) {
    this.#options = options;
  }

  /** Returns what stands before the line while a question is open; null while none is. */
  get prompt(): string | null {
    return this.#waiting[0]?.prompt ?? null;
  }

  /** Takes a typed line as the answer of the open question. */
  answer(typed: string): void {
    const asked = this.#waiting[0];
    if (asked?.take(typed) === false) this.#options.print("  That is none of the answers.\n");
  }

  /** As {@link Questions.choose}. */
  choose<T>(
    question: string,
    { choices, below = "", signal }: {
      choices: readonly Choice<T>[];
      below?: string | undefined;
      signal?: AbortSignal | undefined;
    },
  ): Promise<T | null> {
    const keys = keysOf(choices.map(({ word }) => word));
    const words = choices.map(({ word }, index) => safeLine(marked(word, keys[index] ?? ""))).join("  ");
    return this.#ask(`${safeText(question)}\n${below}`, { prompt: `answer: ${words} › `, signal }, (typed) => {
      const choice = matching(typed, choices, keys);
      return choice === undefined ? null : { value: choice.value };
    });
  }

  /** As {@link Questions.text}. */
  text(question: string, signal?: AbortSignal): Promise<string | null> {
    return this.#ask(safeText(question), { prompt: "answer › ", signal }, (typed) => ({ value: typed }));
  }

  #ask<T>(
    question: string,
    { prompt, signal }: { prompt: string; signal: AbortSignal | undefined },
    read: (typed: string) => { value: T } | null,
  ): Promise<T | null> {
    return new Promise((resolve) => {
      const end = (value: T | null) => {
        const at = this.#waiting.indexOf(asked);
        if (at < 0) return;
        this.#waiting.splice(at, 1);
        resolve(value);
        this.#options.onChange();
      };
      const asked: Asked = {
        prompt,
        take: (typed) => {
          const answer = read(typed);
          if (answer !== null) end(answer.value);
          return answer !== null;
        },
      };
      this.#waiting.push(asked);
      this.#options.print(`${question.endsWith("\n") ? question : `${question}\n`}`);
      this.#options.onChange();
      if (signal?.aborted) return end(null);
      signal?.addEventListener("abort", () => end(null), { once: true });
    });
  }
}
