import type { AdapterEvent } from "bulkhead/plugin-sdk";

/** Most events that are kept between two turns. */
const most = 1000;

/** Keeps the events that come between two turns for the beginning of the next one. */
export class BetweenTurns {
  readonly #events: AdapterEvent[] = [];
  #lost = 0;

  add(events: readonly AdapterEvent[]): void {
    const room = most - this.#events.length;
    this.#events.push(...events.slice(0, room));
    this.#lost += Math.max(0, events.length - room);
  }

  /** Returns the events to report: words as progress, because they are no part of the next answer, and requests as denied. */
  told(): AdapterEvent[] {
    const told: AdapterEvent[] = [];
    let said = "";
    const speak = (): void => {
      if (said.trim() !== "") told.push({ type: "progress", message: `Between two turns it said: ${said.trim()}` });
      said = "";
    };
    for (const event of this.#events) {
      if (event.type === "output" && event.stream === "stdout") {
        said += event.data;
        continue;
      }
      if (event.type !== "output") speak();
      if (event.type === "permission_request") told.push(denied(event.title));
      else if (event.type !== "thinking" && event.type !== "usage") told.push(event);
    }
    speak();
    if (this.#lost > 0) told.push({ type: "progress", message: `${this.#lost} more events came between two turns.` });
    return told;
  }
}

function denied(title: string): AdapterEvent {
  return { type: "progress", message: `A request between two turns was denied: ${title}` };
}
