import { nextTurn } from "./next-turn.ts";

/** Work after which other work has its turn. Milliseconds. */
const turnMs = 8;

/** Lets other work run between the steps of a long one. */
export class Breath {
  #since = performance.now();

  /** Resolves at once, or in the next turn where this work has had its time. */
  async take(): Promise<void> {
    if (performance.now() - this.#since < turnMs) return;
    await nextTurn();
    this.#since = performance.now();
  }
}
