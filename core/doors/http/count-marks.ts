import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { type EventMark, eventMarks, marksOf } from "../../ground/checks/event-marks.ts";

/** How many events of each kind are among some events that follow each other. */
export type MarkCounts = { first: number } & Record<EventMark, number>;

/** Numbers of events to which a person goes one by one. */
export type MarkPlaces = Record<"failures" | "edits" | "denials", number[]>;

/** Events that add no row to a timeline: the text before them goes on after them. */
const silent: ReadonlySet<string> = new Set([
  "message_accepted",
  "message_changed",
  "message_sent",
  "message",
  "turn_started",
]);

/** Counts a session's events by their marks, in groups of `step` numbers. A text in pieces counts once in its group. */
export class MarkCounting {
  /**
   * Numbers of what failed, was edited and was denied; that of the call for a tool whose call is in the same group or the one
   * before.
   */
  readonly places: MarkPlaces = { failures: [], edits: [], denials: [] };
  readonly #step: number;
  readonly #groups = new Map<number, MarkCounts>();
  readonly #calls = new Map<string, number>();
  #texts: number | null = null;

  constructor(step: number) {
    this.#step = step;
  }

  /** Groups with at least one mark, from one number to another. */
  groups(from: number, to: number): MarkCounts[] {
    return [...this.#groups.values()].filter(({ first }) => from <= first && first <= to)
      .sort((a, b) => a.first - b.first);
  }

  take({ event, seq }: Envelope): void {
    if (silent.has(event.type)) return;
    const group = this.#groupOf(seq);
    const isText = event.type === "output" && event.stream === "stdout";
    const goesOn = isText && this.#texts === group;
    this.#texts = isText ? group : null;
    if (event.type === "tool_call") this.#calls.set(event.call_id, seq);
    const place = event.type === "tool_result" ? this.#callOf(event.call_id, group) ?? seq : seq;
    if (goesOn) return;
    const marks = marksOf(event);
    if (event.type === "capability" && marks.includes("failures")) this.places.denials.push(place);
    for (const mark of marks) {
      this.#counts(place)[mark]++;
      if (mark === "failures" || mark === "edits") this.places[mark].push(place);
    }
  }

  #callOf(id: string, group: number): number | undefined {
    const seq = this.#calls.get(id);
    this.#calls.delete(id);
    return seq !== undefined && this.#groupOf(seq) >= group - 1 ? seq : undefined;
  }

  #counts(seq: number): MarkCounts {
    const group = this.#groupOf(seq);
    let counts = this.#groups.get(group);
    if (counts === undefined) {
      const none = Object.fromEntries(eventMarks.map((mark) => [mark, 0])) as Record<EventMark, number>;
      counts = { first: group * this.#step + 1, ...none };
      this.#groups.set(group, counts);
    }
    return counts;
  }

  #groupOf(seq: number): number {
    return Math.floor((seq - 1) / this.#step);
  }
}
