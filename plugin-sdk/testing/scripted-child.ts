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
  #kill: () => void = () => {};
  readonly #killed: Promise<void> = new Promise((resolve) => this.#kill = resolve);

  constructor(script: ScriptedProcess, record: RecordedRun) {
    this.#record = record;
    this.#hangs = script.hangs ?? false;
    this.stdin = {
      write: (text) => this.#write(text),
      close: () => {
        record.stdin_closed = true;
        return Promise.resolve();
      },
    };
    let ended = (): void => {};
    const outputsEnded = new Promise<void>((resolve) => {
      let open = 2;
      ended = () => void (--open === 0 && resolve());
    });
    this.stdout = this.#read(script.stdout, ended);
    this.stderr = this.#read(script.stderr, ended);
    this.exit = Promise.race([outputsEnded, this.#killed]).then(() => {
      if (record.killed) return { exit_code: null, signal: "SIGTERM" };
      if (script.signal !== undefined) return { exit_code: null, signal: script.signal };
      return { exit_code: script.exit_code ?? 0, signal: null };
    });
  }

  kill(): Promise<void> {
    this.#record.killed = true;
    this.#kill();
    return Promise.resolve();
  }

  async #write(text: string): Promise<void> {
    await nextTurn();
    const { options, stdin_closed, killed } = this.#record;
    if (options.stdin !== "open" || stdin_closed || killed) {
      throw new BulkheadError("io_error", `Cannot write to "${this.#record.binary}": its standard input is closed.`);
    }
    this.#record.stdin += text;
  }

  /** Works as in a host: a stream can be read once, and leaving it unread counts as its end. */
  #read(text: string | readonly string[] = [], ended: () => void): AsyncIterable<string> {
    const pieces = this.#pieces(typeof text === "string" ? [text] : text);
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

  async *#pieces(texts: readonly string[]): AsyncGenerator<string, void, void> {
    for (const text of texts) {
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
