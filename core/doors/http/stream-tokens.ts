import type { Caller } from "./scopes.ts";
import type { TokenStore } from "./tokens.ts";

/** How long a stream may outlive its token. Milliseconds. */
const everyMs = 500;

/** Ends open streams soon after their tokens have ended, however much or little they carry. */
export class StreamTokens {
  readonly #tokens: Pick<TokenStore, "holds">;
  readonly #callers = new Map<string, { caller: Caller; ends: Set<() => void> }>();
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(tokens: Pick<TokenStore, "holds">) {
    this.#tokens = tokens;
  }

  /**
   * Watches the token of a stream.
   * @param end ends the stream
   * @returns stops it: call it when the stream is over
   */
  watch(caller: Caller, end: () => void): () => void {
    const { ends } = this.#callers.get(caller.id) ?? { ends: new Set() };
    this.#callers.set(caller.id, { caller, ends: ends.add(end) });
    this.#timer ??= setInterval(() => void this.#look(), everyMs);
    return () => {
      ends.delete(end);
      if (ends.size === 0 && this.#callers.get(caller.id)?.ends === ends) this.#callers.delete(caller.id);
      if (this.#callers.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  /** One question for each token: it may have many streams. */
  async #look(): Promise<void> {
    for (const { caller, ends } of [...this.#callers.values()]) {
      const holds = await this.#tokens.holds(caller).catch(() => false);
      if (!holds) { for (const end of [...ends]) end(); }
    }
  }
}
