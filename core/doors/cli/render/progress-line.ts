import type { Envelope } from "../../../../plugin-sdk/envelope.ts";
import { startBackgroundTimer } from "../../../ground/platform/engine/background-timer.ts";
import type { Paint } from "./paint.ts";
import { formatDuration, plural } from "./quantities.ts";

interface ProgressLineOptions {
  /** Writes to the terminal, at once. */
  write(text: string): unknown;
  paint: Paint;
  /** Whether the person has an open question: then the line stays hidden. */
  isAsking(): boolean;
  /** Milliseconds since some fixed moment. */
  now?(): number;
}

/** Phases of a session in which a person may wait, by the event that begins each. */
const phases = {
  session_started: "loading the plugin",
  queued: "waiting for its turn",
  attempt_started: "running",
  completed: "looking which files changed",
} as const satisfies { [T in Envelope["event"]["type"]]?: string };

/** How often to redraw the line while nothing else is written. Milliseconds. */
const everyMs = 1000;

/** Moves to the first column, and erases to the end of the line (ECMA-48, 8.3.41). */
const erase = "\r\u001b[K";

/** A line below all other output that shows what the session does. It comes back after a second of silence. */
export class ProgressLine {
  readonly #options: ProgressLineOptions;
  readonly #now: () => number;
  readonly #began: number;
  #cancel: () => void = () => {};
  #events = 0;
  #doing: string = phases.attempt_started;
  #isShown = false;

  constructor(options: ProgressLineOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#began = this.#now();
    this.#later();
  }

  /** Counts an event, which may begin another phase of the session. */
  count({ type }: { type: Envelope["event"]["type"] }): void {
    this.#events += 1;
    if (Object.hasOwn(phases, type)) this.#doing = phases[type as keyof typeof phases];
  }

  /** Makes room for a text. After a text that ends in mid-line, nothing is drawn until a text ends a line. */
  giveWay({ ends }: { ends: "line" | "middle" }): void {
    this.#hide();
    this.#cancel();
    if (ends === "line") this.#later();
  }

  /** Removes the line permanently. */
  close(): void {
    this.#hide();
    this.#cancel();
  }

  #later(): void {
    this.#cancel = startBackgroundTimer(() => {
      if (!this.#options.isAsking()) this.#draw();
      this.#later();
    }, everyMs);
  }

  #draw(): void {
    const { write, paint } = this.#options;
    const facts = `${this.#doing} · ${formatDuration(this.#now() - this.#began)} · ${plural(this.#events, "event")}`;
    write(`${erase} ${paint("dim", `… ${facts}`)}`);
    this.#isShown = true;
  }

  #hide(): void {
    if (this.#isShown) this.#options.write(erase);
    this.#isShown = false;
  }
}
