import type { Connection } from "../context.ts";
import { BulkheadError } from "../errors.ts";
import type { RecordedConnection, ScriptedSocket } from "./scripts.ts";

/** Simulates an open WebSocket. */
export class ScriptedConnection implements Connection {
  readonly messages: AsyncIterable<string>;
  readonly #script: ScriptedSocket;
  readonly #record: RecordedConnection;
  readonly #waiting: string[];
  /** True once it has closed, or will close after the waiting messages are read. */
  #over: boolean;
  #refuses = false;
  #wake: () => void = () => {};

  constructor(script: ScriptedSocket, record: RecordedConnection) {
    this.#script = script;
    this.#record = record;
    this.#waiting = [...script.messages ?? []];
    this.#over = script.answer === undefined;
    let taken = false;
    this.messages = {
      [Symbol.asyncIterator]: () => {
        if (taken) throw new TypeError("These messages have been read already.");
        taken = true;
        return { next: () => this.#next(), return: () => this.#leave() };
      },
    };
  }

  send(text: string): Promise<void> {
    if (this.#refuses || this.#record.closed) {
      const message = "Cannot send a message: the connection is closed.";
      return Promise.reject(new BulkheadError("network_error", message));
    }
    this.#record.sent.push(text);
    const said = this.#script.answer === undefined ? [] : this.#script.answer(text);
    if (said === null) this.#over = this.#refuses = true;
    else this.#waiting.push(...said);
    this.#wake();
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.#record.closed = true;
    this.#wake();
    return Promise.resolve();
  }

  async #next(): Promise<IteratorResult<string, undefined>> {
    while (!this.#record.closed) {
      const value = this.#waiting.shift();
      if (value !== undefined) return { done: false, value };
      if (this.#over) break;
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    this.#refuses = true;
    return { done: true, value: undefined };
  }

  async #leave(): Promise<IteratorResult<string, undefined>> {
    await this.close();
    return { done: true, value: undefined };
  }
}
