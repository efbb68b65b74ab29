import { omitUndefined } from "../optional-fields.ts";
import type { TurnTerms } from "../request.ts";
import type { Turn, TurnMessage } from "../turns.ts";
import type { ScriptedTurn } from "./scripts.ts";

/** Options of {@link MemoryTurns}. */
interface MemoryTurnsOptions extends TurnTerms {
  prompt?: string;
  output_schema?: Record<string, unknown>;
  turns?: readonly ScriptedTurn[];
}

/** Turns of a session in memory. A turn is over when the adapter asks for the next one. */
export class MemoryTurns implements AsyncIterableIterator<Turn> {
  readonly #prompt: string;
  readonly #schema: Record<string, unknown> | undefined;
  /** They hold until a turn has others. */
  #terms: TurnTerms;
  readonly #script: readonly ScriptedTurn[];
  readonly #isKept: boolean;
  #number = 0;
  #stop = new AbortController();
  #end: () => void = () => {};

  constructor({ prompt = "Say hello.", output_schema, effort, plan, turns }: MemoryTurnsOptions) {
    this.#prompt = prompt;
    this.#schema = output_schema;
    this.#terms = omitUndefined({ effort, plan });
    this.#script = turns ?? [{}];
    this.#isKept = turns !== undefined;
  }

  /** Returns the number of the turn under way; 0 before the first. */
  get number(): number {
    return this.#number;
  }

  /** Stops the turn under way. */
  stop(): void {
    this.#stop.abort();
  }

  async next(): Promise<IteratorResult<Turn>> {
    this.#end();
    const script = this.#script[this.#number];
    await script?.after;
    if (script === undefined) return { done: true, value: undefined };
    const number = ++this.#number;
    const { prompt = this.#prompt, content, messages = [], effort, plan } = script;
    this.#terms = { ...this.#terms, ...omitUndefined({ effort, plan }) };
    const output_schema = script.output_schema ?? (number === 1 ? this.#schema : undefined);
    this.#stop = new AbortController();
    const over = new Promise<void>((resolve) => (this.#end = resolve));
    const turn: Turn = {
      number,
      prompt,
      ...(content === undefined ? {} : { content }),
      ...(output_schema === undefined ? {} : { output_schema }),
      ...this.#terms,
      kept: this.#isKept,
      messages: wordsUntil(over, { messages, turn: number }),
      signal: this.#stop.signal,
    };
    return { done: false, value: turn };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

async function* wordsUntil(
  over: Promise<void>,
  { messages, turn }: { messages: Required<ScriptedTurn>["messages"]; turn: number },
): AsyncGenerator<TurnMessage, void> {
  const texts = fromEach(messages);
  const end = over.then(() => ({ done: true, value: undefined }) as const);
  for (let at = 1;; at++) {
    const given = await Promise.race([end, texts.next()]);
    if (given.done) break;
    yield { message_id: `turn-${turn}-message-${at}`, text: given.value };
  }
  await over;
}

async function* fromEach<T>(items: Iterable<T> | AsyncIterable<T>): AsyncGenerator<T, void> {
  yield* items;
}
