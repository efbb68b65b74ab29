import type { AdapterContext } from "bulkhead/plugin-sdk";

interface OpenQuestion {
  promise: Promise<string | null>;
  resolve(answer: string | null): void;
}

/** Brings the host's answers to the agent's questions, which are asked for once their events are on the way. */
export class Questions {
  readonly #ctx: Pick<AdapterContext, "answer">;
  readonly #open = new Map<string, OpenQuestion>();
  #closed = false;

  constructor(ctx: Pick<AdapterContext, "answer">) {
    this.#ctx = ctx;
  }

  /** Begins a question. */
  begin(requestId: string): void {
    if (this.#closed) return;
    let resolve: (answer: string | null) => void = () => {};
    const promise = new Promise<string | null>((settle) => resolve = settle);
    this.#open.set(requestId, { promise, resolve });
  }

  /** The question's event has reached the host. */
  ask(requestId: string): void {
    const question = this.#open.get(requestId);
    if (question) this.#ctx.answer(requestId).catch(() => null).then(question.resolve);
  }

  /** Returns the answer to a question, once there is one; null for none. */
  wait(requestId: string): Promise<string | null> {
    return this.#open.get(requestId)?.promise ?? Promise.resolve(null);
  }

  /** Ends all open questions: no answer will come any more. */
  close(): void {
    this.#closed = true;
    for (const { resolve } of this.#open.values()) resolve(null);
  }
}
