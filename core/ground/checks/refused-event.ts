import type { UnparsedEvent } from "../../../plugin-sdk/events.ts";

/** A yielded value that the host did not take as an event. */
interface Refusal {
  /** Sentence that says what is wrong with it. */
  problem: string;
  yielded: unknown;
}

/** Makes the event that keeps a refused value in the stream. */
export function refusedEvent({ problem, yielded }: Refusal): UnparsedEvent {
  return { type: "unparsed", data: { problem, yielded } };
}

/** Returns why an event was refused; null for an event that was taken, and for output that its adapter does not know. */
export function refusalOf(event: { type: string; data?: unknown }): Refusal | null {
  if (event.type !== "unparsed" || typeof event.data !== "object" || event.data === null) return null;
  const { problem, yielded } = event.data as { problem?: unknown; yielded?: unknown };
  return typeof problem === "string" && yielded !== undefined ? { problem, yielded } : null;
}

/** Checks whether the refused value was meant as the last word of a session. */
export function isEnding({ yielded }: Refusal): boolean {
  const type: unknown = typeof yielded === "object" && yielded !== null ? Reflect.get(yielded, "type") : undefined;
  return type === "completed" || type === "error";
}
