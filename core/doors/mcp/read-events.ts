import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { weightOf } from "../../walls/channel/weight.ts";
import type { SessionHost } from "../../sessions/host/session-host.ts";

/** A page of a session's events. */
export interface EventPage {
  events: Envelope[];
  /** Cursor of the next page. */
  next_after: number;
  /** The session has ended, and this page holds its last event. */
  complete: boolean;
}

/** Bytes of one page, about; one event alone may be more. */
const pageBytes = 512 * 1024;

/**
 * The events after a `seq` that are there now; it waits for none.
 * @throws {BulkheadError} `not_found`
 */
export async function readEvents(
  sessions: SessionHost,
  sessionId: string,
  { after = 0, limit = 200 }: { after?: number | undefined; limit?: number | undefined } = {},
): Promise<EventPage> {
  const { last_seq, state } = await sessions.get(sessionId);
  const events: Envelope[] = [];
  let bytes = 0;
  let at = after;
  const left = new AbortController();
  if (after < last_seq) {
    for await (const envelope of (await sessions.open(sessionId)).events({ after, signal: left.signal })) {
      events.push(envelope);
      at = envelope.seq;
      bytes += weightOf(envelope);
      if (at >= last_seq || events.length >= limit || bytes >= pageBytes) break;
    }
  }
  left.abort();
  return { events, next_after: at, complete: state === "ended" && at >= last_seq };
}
