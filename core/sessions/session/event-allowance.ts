import type { Limits } from "../../ground/config/limits.ts";

/** Counts one session's events, over all its attempts, against the limits for the session. */
export class EventAllowance {
  #events = 0;
  #bytes = 0;

  /** Returns how many events of a batch are still allowed, and the problem if that is not all of them. */
  take(
    batch: { events: number; bytes: number },
    { events, event_bytes_total }: Pick<Limits, "events" | "event_bytes_total">,
  ): { kept: number; problem: string | null } {
    this.#bytes += batch.bytes;
    if (this.#bytes > event_bytes_total) {
      return { kept: 0, problem: `The session's events had more than ${event_bytes_total} bytes.` };
    }
    const kept = Math.max(0, Math.min(batch.events, events - this.#events));
    this.#events += kept;
    return { kept, problem: kept < batch.events ? `The session had more than ${events} events.` : null };
  }
}
