import type { ShownEvent } from "../../../../core/doors/console/page/shown-event.ts";

/** Makes envelopes of events that follow each other, as the page has them. */
export function shownEvents(
  events: readonly ShownEvent["event"][],
  { from = 1 }: { from?: number } = {},
): ShownEvent[] {
  return events.map((event, at) => ({
    v: 1,
    seq: from + at,
    gseq: from + at,
    ts: "2026-01-01T00:00:00.000Z",
    session_id: "s",
    attempt: 1,
    adapter: { id: "a", version: "1.0.0" },
    source: "agent",
    event,
  }));
}
