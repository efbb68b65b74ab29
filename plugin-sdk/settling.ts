import type { CliEnding } from "./cli-ending.ts";
import type { AdapterContext } from "./context.ts";
import type { AdapterEvent } from "./events.ts";

/** Steps for a program that is silent after its last word. */
interface SettlingSteps {
  ctx: AdapterContext;
  /** Nothing keeps the program but its work. */
  endsAlone: boolean;
  /** Tells the program that nothing else comes. */
  leave(): Promise<void> | void;
  kill(): void;
}

/** Ends a program whose work is over: it is left, and killed if it is silent and stays. */
export class Settling {
  readonly #ending: Pick<CliEnding, "isOver" | "patience">;
  readonly #steps: SettlingSteps;
  #heardAt = 0;
  #isLeft = false;
  #isWaiting = false;
  /** Ends the sleep of this many milliseconds that goes on. */
  #sleep: { patience: number; end(): void } | null = null;

  constructor(ending: Pick<CliEnding, "isOver" | "patience">, steps: SettlingSteps) {
    this.#ending = ending;
    this.#steps = steps;
  }

  /** Call it with the program's events, after its ending took them. */
  heard(events: readonly AdapterEvent[]): void {
    if (!this.#ending.isOver) return;
    if (events.some(isSignOfLife)) this.#heardAt = Date.now();
    if (!this.#isWaiting) void this.#wait().catch(() => {});
    const patience = this.#patience();
    // What held the session open is over: it does not take as long any more.
    if (this.#sleep && patience !== null && patience < this.#sleep.patience) this.#sleep.end();
  }

  #patience(): number | null {
    return this.#ending.patience(this.#isLeft, this.#steps.endsAlone);
  }

  async #wait(): Promise<void> {
    const { ctx, leave, kill } = this.#steps;
    this.#isWaiting = true;
    for (;;) {
      const patience = this.#patience();
      if (patience === null) break;
      const rest = this.#heardAt + patience - Date.now();
      if (rest > 0) {
        const woken = new Promise<void>((end) => this.#sleep = { patience, end });
        await Promise.race([ctx.sleep(rest), woken]);
        this.#sleep = null;
      } else if (this.#isLeft) return kill();
      else {
        this.#isLeft = true;
        this.#heardAt = Date.now();
        void Promise.resolve(leave()).catch(() => {});
      }
    }
    this.#isWaiting = false;
  }
}

/** Programs may write lines without a meaning forever. */
function isSignOfLife(event: AdapterEvent): boolean {
  return event.type !== "unparsed" && !(event.type === "output" && event.stream === "stderr");
}
