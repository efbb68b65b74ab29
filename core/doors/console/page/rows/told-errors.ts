import type { ErrorData } from "../../../../../plugin-sdk/errors.ts";
import type { ShownEvent } from "../shown-event.ts";

type Event = ShownEvent["event"];

/** The errors that a session has told: the agent's own words, a failed attempt, a turn and the end have the same one. */
export class ToldErrors {
  readonly #texts: Set<string>;

  /** @param before events whose rows stand above */
  constructor(before: readonly ShownEvent[] = []) {
    this.#texts = new Set();
    for (const { event } of before) this.brief(event);
  }

  /** Returns an event with what was told before left out: its error then has its code alone. */
  brief(event: Event): Event {
    switch (event.type) {
      case "error":
        this.#texts.add(event.message);
        return event;
      case "attempt_failed":
        return { ...event, error: this.#briefError(event.error) };
      case "turn_ended":
        return event.error === undefined ? event : { ...event, error: this.#briefError(event.error) };
      case "session_ended": {
        const { result } = event;
        return result.error === undefined
          ? event
          : { ...event, result: { ...result, error: this.#briefError(result.error) } };
      }
      default:
        return event;
    }
  }

  #briefError({ hint, ...error }: ErrorData): ErrorData {
    const message = this.#texts.has(error.message) ? error.code : error.message;
    const isNew = hint !== undefined && !this.#texts.has(hint);
    this.#texts.add(error.message);
    if (hint !== undefined) this.#texts.add(hint);
    return { ...error, message, ...(isNew ? { hint } : {}) };
  }
}
