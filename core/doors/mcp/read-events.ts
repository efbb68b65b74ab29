import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { weightOf } from "../../walls/channel/weight.ts";
import type { SessionHandle, SessionHost } from "../../sessions/host/session-host.ts";

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
  for await (const envelope of knownEvents(await sessions.open(sessionId), { after, last_seq })) {
    events.push(envelope);
    at = envelope.seq;
    bytes += weightOf(envelope);
    if (events.length >= limit || bytes >= pageBytes) break;
  }
  return { events, next_after: at, complete: state === "ended" && at >= last_seq };
}

/** Streams the events after a `seq` up to the newest one that its session's summary knew. */
export async function* knownEvents(
  handle: SessionHandle,
  { after = 0, last_seq }: { after?: number; last_seq: number },
): AsyncGenerator<Envelope, void, void> {
  if (after >= last_seq) return;
  const left = new AbortController();
  try {
    for await (const envelope of handle.events({ after, signal: left.signal })) {
      yield envelope;
      if (envelope.seq >= last_seq) return;
    }
  } finally {
    left.abort();
  }
}
