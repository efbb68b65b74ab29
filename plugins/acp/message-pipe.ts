import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";

/**
 * The stream that the protocol's library reads and writes messages by. The library asks a stream for one reader and for
 * writers, and for nothing else, so this is all there is: a compartment has no web streams, and each one endowed would
 * be a way to reach the host's own.
 */
export class MessagePipe {
  readonly stream: Stream;
  readonly #messages: AnyMessage[] = [];
  #waiting: ((read: Read) => void) | null = null;
  #ended = false;

  /** @param send Resolves when the agent's side took the message. */
  constructor(send: (message: AnyMessage) => Promise<void>) {
    const cancel = (): Promise<void> => {
      this.end();
      return Promise.resolve();
    };
    const reader = { read: () => this.#read(), cancel, releaseLock() {} };
    const writer = { write: send, releaseLock() {} };
    // Only these two are ever called.
    this.stream = { readable: { getReader: () => reader }, writable: { getWriter: () => writer } } as unknown as Stream;
  }

  /** Gives the library a message of the agent's. */
  receive(message: AnyMessage): void {
    if (this.#ended) return;
    if (this.#waiting) this.#answer({ value: message, done: false });
    else this.#messages.push(message);
  }

  /** The agent says no more: the library fails what still waits for an answer. */
  end(): void {
    this.#ended = true;
    this.#answer({ value: undefined, done: true });
  }

  #answer(read: Read): void {
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.(read);
  }

  #read(): Promise<Read> {
    const value = this.#messages.shift();
    if (value !== undefined) return Promise.resolve({ value, done: false });
    if (this.#ended) return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve) => this.#waiting = resolve);
  }
}

type Read = { value: AnyMessage; done: false } | { value: undefined; done: true };
