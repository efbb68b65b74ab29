import { BulkheadError, TextTail } from "bulkhead/plugin-sdk";

/** Longest silence after words that came instead of an answer, and how long such words may go on. */
const silenceMs = 20_000;
const wordsMs = 120_000;
/** The same after words on the error output alone: a log, as a rule, of a program that may start slowly. */
const errorSilenceMs = 90_000;
const quotedLength = 300;

/**
 * Ends a request whose answer does not come, though words do: a program asks a person for a login so, or speaks another
 * protocol. A program that prints its log while it starts has time to answer.
 */
export class Handshake {
  readonly #words = new TextTail(quotedLength);
  #firstAt: number | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #fail: (() => void) | null = null;
  #isAnswered = false;

  /** Whether a request was answered without an error: then the agent does speak the protocol. */
  get isAnswered(): boolean {
    return this.#isAnswered;
  }

  /**
   * Waits for the answer to a request.
   * @throws {BulkheadError} `unavailable` with the words that came instead
   */
  async answer(method: string, request: Promise<unknown>): Promise<unknown> {
    const words = new Promise<never>((_resolve, reject) => {
      this.#fail = () => reject(this.#error(method));
    });
    try {
      const answer = await Promise.race([request, words]);
      this.#isAnswered = true;
      return answer;
    } finally {
      this.#fail = null;
      this.forget();
    }
  }

  /** Takes output that is no message. */
  hear(text: string): void {
    const fail = this.#fail;
    if (fail === null || text.trim() === "") return;
    this.#firstAt ??= Date.now();
    this.#wait(text, fail, silenceMs);
  }

  /** Takes a line of the error output. */
  hearError(text: string): void {
    const fail = this.#fail;
    if (fail !== null && text.trim() !== "") {
      this.#wait(text, fail, this.#firstAt === null ? errorSilenceMs : silenceMs);
    }
  }

  #wait(text: string, fail: () => void, ms: number): void {
    this.#words.add(text);
    clearTimeout(this.#timer);
    const leftMs = this.#firstAt === null ? ms : this.#firstAt + wordsMs - Date.now();
    this.#timer = setTimeout(fail, Math.max(0, Math.min(ms, leftMs)));
  }

  /** Forgets the words: the agent sent a message, and so speaks the protocol. */
  forget(): void {
    clearTimeout(this.#timer);
    this.#firstAt = null;
    this.#words.clear();
  }

  #error(method: string): BulkheadError {
    const words = this.#words.text.trim();
    return new BulkheadError(
      "unavailable",
      `Cannot talk to the agent: instead of an answer to "${method}" it printed: ${words}`,
      { hint: "Run its program in a terminal to see what it asks for." },
    );
  }
}
