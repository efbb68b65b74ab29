import type { ProcessExit, RunningProcess } from "../context.ts";
import { BulkheadError } from "../errors.ts";
import type { RecordedRun, ScriptedProcess } from "./scripts.ts";

/**
 * Simulates a running program. Each piece of its output arrives in a separate turn of the event loop, as over a pipe.
 */
export class ScriptedChild implements RunningProcess {
  readonly stdin: RunningProcess["stdin"];
  readonly stdout: AsyncIterable<string>;
  readonly stderr: AsyncIterable<string>;
  readonly exit: Promise<ProcessExit>;
  readonly #record: RecordedRun;
  readonly #hangs: boolean;
  readonly #answer: ScriptedProcess["answer"];
  /** Answers that were not printed yet; null: it ends. */
  readonly #answers: (string | null)[] = [];
  #wake: () => void = () => {};
  #kill: () => void = () => {};
  readonly #killed: Promise<void> = new Promise((resolve) => this.#kill = resolve);

  constructor(script: ScriptedProcess, record: RecordedRun) {
    this.#record = record;
    this.#hangs = script.hangs ?? false;
    this.#answer = script.answer?.bind(script);
    this.stdin = {
      write: (text) => this.#write(text),
      close: () => {
        record.stdin_closed = true;
        this.#print(null);
        return Promise.resolve();
      },
    };
    let ended = (): void => {};
    const outputsEnded = new Promise<void>((resolve) => {
      let open = 2;
      ended = () => void (--open === 0 && resolve());
    });
    this.stdout = this.#read(this.#printed(script.stdout), ended);
    this.stderr = this.#read(this.#pieces(script.stderr), ended);
    this.exit = Promise.race([outputsEnded, this.#killed]).then(() => {
      if (record.killed) return { exit_code: null, signal: "SIGTERM" };
      if (script.signal !== undefined) return { exit_code: null, signal: script.signal };
      return { exit_code: script.exit_code ?? 0, signal: null };
    });
  }

  kill(): Promise<void> {
    this.#record.killed = true;
    this.#kill();
    this.#print(null);
    return Promise.resolve();
  }

  async #write(text: string): Promise<void> {
    await nextTurn();
    const { options, stdin_closed, killed } = this.#record;
    if (options.stdin !== "open" || stdin_closed || killed) {
      throw new BulkheadError("io_error", `Cannot write to "${this.#record.binary}": its standard input is closed.`);
    }
    const unfinished = this.#record.stdin.slice(this.#record.stdin.lastIndexOf("\n") + 1);
    this.#record.stdin += text;
    const whole = `${unfinished}${text}`.split("\n").slice(0, -1);
    for (const line of whole) {
      for (const piece of this.#answer?.(line, (answer) => this.#print(answer)) ?? []) this.#print(piece);
    }
  }

  #print(text: string | null): void {
    this.#answers.push(text);
    this.#wake();
  }

  async *#printed(text?: string | readonly string[]): AsyncGenerator<string, void, void> {
    yield* this.#pieces(text);
    while (this.#answer) {
      const answer = this.#answers.shift();
      if (answer === null) return;
      if (answer === undefined) await new Promise<void>((resolve) => this.#wake = resolve);
      else yield* this.#pieces(answer);
    }
  }

  /** Works as in a host: a stream can be read once, and leaving it unread counts as its end. */
  #read(pieces: AsyncGenerator<string, void, void>, ended: () => void): AsyncIterable<string> {
    let taken = false;
    let over = false;
    const end = (): void => {
      if (!over) ended();
      over = true;
    };
    const next = async (): Promise<IteratorResult<string, undefined>> => {
      const result = await pieces.next();
      if (!result.done) return result;
      end();
      return { done: true, value: undefined };
    };
    const leave = (): Promise<IteratorResult<string, undefined>> => {
      end();
      return Promise.resolve({ done: true, value: undefined });
    };
    return {
      [Symbol.asyncIterator]: () => {
        if (taken) throw new TypeError("This stream has been read already.");
        taken = true;
        return { next, return: leave };
      },
    };
  }

  async *#pieces(texts: string | readonly string[] = []): AsyncGenerator<string, void, void> {
    for (const text of [texts].flat()) {
      await nextTurn();
      if (this.#record.killed) return;
      yield text;
    }
    if (this.#hangs) await this.#killed;
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
