import type { AdapterEvent, OutputEvent } from "./events.ts";
import { TextTail } from "./text-tail.ts";

/** Most characters kept of one message. */
const maxLength = 1024 * 1024;

/**
 * Tells the messages of an agent apart: one ends where the agent uses a tool. Each begins on a line of its own, and the
 * last one is the answer.
 */
export class SpokenMessages {
  readonly #last = new TextTail(maxLength);
  #count = 0;
  #isBetween = true;
  #openLine = false;

  /**
   * Takes events and returns them as they are passed on.
   * @param options.whole each output is a whole message, not a part of one
   */
  take(events: readonly AdapterEvent[], { whole = false }: { whole?: boolean } = {}): AdapterEvent[] {
    return events.map((event) => {
      if (event.type === "tool_call" || event.type === "tool_result") this.#isBetween = true;
      if (event.type !== "output" || event.stream === "stderr" || event.data === "") return event;
      return this.#speak(event, whole);
    });
  }

  /** Returns the last message; undefined where all that was said is one message. */
  get answer(): string | undefined {
    return this.#count > 1 ? this.#last.text : undefined;
  }

  #speak(event: OutputEvent, whole: boolean): OutputEvent {
    const begins = this.#isBetween || whole;
    const ends = event.data.endsWith("\n");
    if (begins && event.data.trim() === "") {
      // A message does not begin with blanks: what it says is still to come.
      if (ends) this.#openLine = false;
      return event;
    }
    const gap = begins && this.#openLine ? "\n" : "";
    if (begins) {
      this.#count++;
      this.#last.clear();
    }
    this.#last.add(event.data);
    this.#isBetween = whole;
    this.#openLine = !ends;
    return gap === "" ? event : { ...event, data: gap + event.data };
  }
}
