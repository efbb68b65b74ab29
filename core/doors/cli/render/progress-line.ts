import { startBackgroundTimer } from "../../../ground/runtime/background-timer.ts";
import type { Paint } from "./paint.ts";
import { formatDuration, plural } from "./quantities.ts";

/** Options of {@link ProgressLine}. */
export interface ProgressLineOptions {
  /** Writes to the terminal, at once. */
  write(text: string): unknown;
  paint: Paint;
  /** Whether a question is open: then the line stays away. */
  isAsking(): boolean;
  /** Milliseconds since some moment. */
  now?(): number;
}

/** Interval of redrawing the line while nothing else is written. Milliseconds. */
const everyMs = 1000;

/** To the first column, and erase to the end of the line (ECMA-48, 8.3.41). */
const erase = "\r\u001b[K";

/**
 * A line below all that was written: that the session runs, for how long, and how much it has said. It is taken away
 * before anything else is written, and comes back when a second has passed in silence.
 */
export class ProgressLine {
  readonly #options: ProgressLineOptions;
  readonly #now: () => number;
  readonly #began: number;
  #cancel: () => void = () => {};
  #events = 0;
  #isShown = false;

  constructor(options: ProgressLineOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#began = this.#now();
    this.#later();
  }

  /** An event has come. */
  count(): void {
    this.#events += 1;
  }

  /** Makes room for a text. Where that ends in the middle of a line, nothing is drawn until one is written that does not. */
  giveWay({ ends }: { ends: "line" | "middle" }): void {
    this.#hide();
    this.#cancel();
    if (ends === "line") this.#later();
  }

  /** Takes it away for good. */
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
    const facts = `running · ${formatDuration(this.#now() - this.#began)} · ${plural(this.#events, "event")}`;
    write(`${erase} ${paint("dim", `… ${facts}`)}`);
    this.#isShown = true;
  }

  #hide(): void {
    if (this.#isShown) this.#options.write(erase);
    this.#isShown = false;
  }
}
