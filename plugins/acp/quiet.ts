import type { AdapterContext } from "bulkhead/plugin-sdk";

/** Longest silence after the answer to a prompt, when all seems told: in a program that ends then, and in one that stays. */
const quietMs = 100;
const keptMs = 150;
/** The same when a call is open; and when nothing was said. */
const openCallMs = 10_000;
const speechlessMs = 2000;

/** State of a turn whose prompt is answered. */
export interface TurnState {
  isKept: boolean;
  /** Whether a call has no result, and may get one. */
  hasOpenCall: boolean;
  isSpeechless: boolean;
}

/** Waits until an agent has told all of its turn: agents send the end of an answer after the answer to its prompt. */
export class Quiet {
  readonly #ctx: Pick<AdapterContext, "sleep" | "signal">;
  #heardAt = 0;
  #end: () => void = () => {};
  readonly #ended = new Promise<void>((resolve) => this.#end = resolve);

  constructor(ctx: Pick<AdapterContext, "sleep" | "signal">) {
    this.#ctx = ctx;
  }

  /** The agent has sent something. */
  heard(): void {
    this.#heardAt = Date.now();
  }

  /** The agent sends no more. */
  end(): void {
    this.#end();
  }

  /** Resolves when the agent sends no more. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  /** Resolves after a silence that fits the state, or when the agent or the session ends. */
  async come(state: () => TurnState): Promise<void> {
    this.#heardAt = Date.now();
    for (;;) {
      const rest = this.#heardAt + patienceIn(state()) - Date.now();
      if (rest <= 0 || this.#ctx.signal.aborted) return;
      // In short steps: what comes may make the wait shorter.
      const slept = this.#ctx.sleep(Math.min(rest, quietMs)).then(() => false, () => true);
      if (await Promise.race([this.#ended.then(() => true), slept])) return;
    }
  }
}

function patienceIn({ isKept, hasOpenCall, isSpeechless }: TurnState): number {
  if (hasOpenCall) return openCallMs;
  if (isSpeechless) return speechlessMs;
  return isKept ? keptMs : quietMs;
}
