import { isEnding, refusalOf } from "../../ground/checks/refused-event.ts";
import { saidOf } from "./report.ts";
import type { Take } from "./seen.ts";

/** Whether the host refused the last word of a session. */
export function endRefused({ events }: Take): boolean {
  return events.map(refusalOf).some((refusal) => refusal !== null && isEnding(refusal));
}

/** Whether a session ended without a last word, and without throwing. */
export function fellSilent(take: Take): boolean {
  const { events, result } = take;
  if (result === null || endRefused(take)) return false;
  if (events.some(({ type }) => type === "completed" || type === "error")) return false;
  return result.error?.code === "fatal" && result.error.details?.["stack"] === undefined;
}

/** Says what happened to the worker of a session; null when it lived on. */
export function workerDied({ envelopes }: Take): string | null {
  const event = envelopes.map((envelope) => envelope.event).find(({ type }) => type === "worker");
  return event?.type === "worker" ? event.message : null;
}

/** Finds harm that no tool may do to an adapter: kill its worker, make it throw, or leave it silent. Null: none. */
export function mishap(take: Take): string | null {
  const died = workerDied(take);
  if (died !== null) return `It cost the adapter its worker: ${died}`;
  const { result, refused } = take;
  if (refused !== null) return `The session was refused: ${refused.message}`;
  if (fellSilent(take)) return "The session ended without a last word.";
  const spoke = take.events.some(({ type }) => type === "completed" || type === "error");
  if (!spoke && result?.error?.code === "fatal") return `The adapter threw.\n${saidOf(result.error)}`;
  return null;
}

/** Whether a session completed and nothing that it said holds a text. */
export function completedWithout(take: Take, text: string): boolean {
  return take.result?.outcome === "completed" && !JSON.stringify(take.events).includes(text);
}
