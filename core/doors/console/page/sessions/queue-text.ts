import type { ListedQueue } from "../../../../../plugin-sdk/session-summary.ts";

/** Says in a few words for what a session waits, and at which place. */
export function queueText({ adapter_id, position, reason }: ListedQueue): string {
  if (reason !== undefined) return reason;
  return position === 1 ? `next for a slot of ${adapter_id}` : `number ${position} for a slot of ${adapter_id}`;
}
