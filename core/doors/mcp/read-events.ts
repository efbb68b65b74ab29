import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { weightOf } from "../../walls/channel/weight.ts";
import type { SessionHost } from "../../sessions/host/session-host.ts";

interface EventPage {
  events: Envelope[];
  /** The `after` of the next page. */
  next_after: number;
  /** Whether the session has ended and this page holds its last event. */
  complete: boolean;
}

/** Approximate bytes of one page; one event alone may be more. */
const pageBytes = 512 * 1024;

/**
 * Reads the events that exist now after a `seq`; does not wait for more.
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
