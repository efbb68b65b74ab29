import type { CliEnding } from "./cli-ending.ts";
import type { AdapterContext } from "./context.ts";
import type { AdapterEvent } from "./events.ts";

/** Steps for a program that is silent after its last word. */
interface SettlingSteps {
  ctx: AdapterContext;
  /** Nothing keeps the program but its work. */
  endsAlone: boolean;
  /** Whether the program is done with all that it was given; absent: its last word says so. */
  isDone?(): boolean;
  /** Least silence before it is left, for what comes late. Milliseconds. */
  quietMs?: number;
  /** Tells the program that nothing else comes. */
  leave(): Promise<void> | void;
  /** Absent: it is kept once it is left. */
  kill?(): void;
}

/** Ends a program whose work is over, or its turn: it is left, and killed if it is silent and stays. */
export class Settling {
  readonly #ending: CliEnding;
  readonly #steps: SettlingSteps;
  #heardAt = 0;
  #isLeft = false;
  #isWaiting = false;
  #wasDone = false;
  /** Ends the sleep of this many milliseconds that goes on. */
  #sleep: { patience: number; end(): void } | null = null;

  constructor(ending: CliEnding, steps: SettlingSteps) {
    this.#ending = ending;
    this.#steps = steps;
  }

  /** Call it with each line of the program: one without events may say that it is done. */
  looked(): void {
    const isDone = this.#steps.isDone?.() ?? true;
    // Events of the same lines are on their way.
    if (isDone && !this.#wasDone) this.#heardAt = Date.now();
    this.#wasDone = isDone;
    this.heard([]);
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
    const { endsAlone, isDone, quietMs = 0, kill } = this.#steps;
    if (this.#isLeft && !kill) return null;
    const patience = this.#ending.patience(this.#isLeft, endsAlone);
    return patience === null || isDone?.() === false ? null : Math.max(patience, quietMs);
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
      } else if (this.#isLeft) return kill?.();
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
