import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { type Api, call, unreachable } from "./call-api.ts";
import { ClientError } from "./client-error.ts";
import { readEvents } from "./read-events.ts";
import { queryText, type RemoteEventQuery } from "./queries.ts";
import { type Patience, pause } from "./retried.ts";

interface FollowOptions {
  api: Api;
  path: string;
  query: RemoteEventQuery;
  /** The number by which the stream resumes. */
  numberOf(envelope: Envelope): number;
  /** Whether this event is the last one. */
  isLast(envelope: Envelope): boolean;
  /** Whether the host may end the stream after this event: then it is asked at once for more. */
  isWhole?(envelope: Envelope): boolean;
  patience: Patience;
  /** Gives an unreachable host up, with its reason; what the host still sends is read to its end. */
  leave?: AbortSignal | undefined;
}

/** A host sends a sign of life at least twice in this time, in any configuration. Milliseconds. */
const silenceMs = 60_000;
const firstPauseMs = 100;
const longestPauseMs = 5000;

/**
 * Yields events as they come. Resumes a broken stream after the last event read, with longer and longer pauses, until
 * the host was unreachable for the given time.
 * @throws {ClientError} the error that the host reported; `network_error` when it was unreachable for too long
 */
export async function* followEvents(options: FollowOptions): AsyncGenerator<Envelope, void, void> {
  const { api, numberOf, isLast, isWhole = () => false, patience, leave } = options;
  const { signal } = options.query;
  let { after, cursor } = options.query;
  let failures = 0;
  let lostAt: number | null = null;
  while (!signal?.aborted) {
    let whole = false;
    try {
      for await (const envelope of oneStream(options, { after, cursor })) {
        failures = 0;
        lostAt = null;
        const number = numberOf(envelope);
        // A host never resends events; a proxy in between might.
        if (envelope.cursor === undefined && after !== undefined && number <= after) continue;
        if (envelope.cursor === undefined) after = number;
        else ({ cursor } = envelope);
        const last = isLast(envelope);
        whole = isWhole(envelope);
        yield envelope;
        if (last) return;
      }
      if (signal?.aborted) return;
      if (whole) continue;
      throw unreachable(api, null);
    } catch (error) {
      if (signal?.aborted) return;
      if (error instanceof Ended) return;
      if (!(error instanceof ClientError) || !isPassing(error)) throw error;
      lostAt ??= Date.now();
      const lostMs = Date.now() - lostAt;
      if (leave?.aborted) throw leave.reason;
      if (lostMs >= patience.patienceMs) throw error;
      if (error.code === "network_error") await patience.onLost?.(lostMs);
      const pauseMs = error.retryAfterMs ?? Math.min(longestPauseMs, firstPauseMs * 2 ** failures++);
      await pause(pauseMs * (0.8 + 0.4 * Math.random()), signal, leave);
    }
  }
}

/** The stream is complete: nothing follows. */
class Ended extends Error {}

async function* oneStream(
  { api, path, query }: FollowOptions,
  { after, cursor }: { after: number | undefined; cursor: string | undefined },
): AsyncGenerator<Envelope, void, void> {
  const { signal, ...filter } = query;
  const over = new AbortController();
  const end = () => over.abort(signal?.reason);
  signal?.addEventListener("abort", end, { once: true });
  try {
    const response = await call(
      api,
      `${path}${queryText({ ...filter, after: cursor === undefined ? after : undefined, cursor })}`,
      {
        headers: { accept: "application/x-ndjson" },
        signal: over.signal,
      },
    );
    if (response.status === 204 || response.body === null) throw new Ended();
    yield* readEvents(alive(response.body, api, over));
  } finally {
    signal?.removeEventListener("abort", end);
    over.abort();
  }
}

/** Yields the pieces of a body; fails when the host is silent for too long, since the connection is dead then. */
async function* alive(
  body: ReadableStream<Uint8Array>,
  api: Api,
  over: AbortController,
): AsyncGenerator<Uint8Array, void, void> {
  const reader = body.getReader();
  // See unlessAborted: the body may not hear of it otherwise.
  const leave = () => void reader.cancel().catch(() => {});
  over.signal.addEventListener("abort", leave, { once: true });
  if (over.signal.aborted) leave();
  try {
    while (true) {
      const dead = setTimeout(() => over.abort(new Error("It was silent for too long.")), silenceMs);
      try {
        const next = await reader.read();
        if (next.done) return;
        yield next.value;
      } finally {
        clearTimeout(dead);
      }
    }
  } catch (error) {
    throw unreachable(api, error);
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** Whether a retry may succeed a little later. */
function isPassing({ code }: ClientError): boolean {
  return ["network_error", "host_closed", "unavailable", "busy", "limit_exceeded"].includes(code);
}
