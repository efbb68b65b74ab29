import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { type Api, call, unreachable } from "./call-api.ts";
import { ClientError } from "./client-error.ts";
import { readEvents } from "./read-events.ts";
import { queryText, type RemoteEventQuery } from "./queries.ts";
import { pause } from "./pause.ts";

/** The stream to follow. */
export interface FollowOptions {
  api: Api;
  path: string;
  query: RemoteEventQuery;
  /** The number by which the stream resumes. */
  numberOf(envelope: Envelope): number;
  /** Whether nothing follows this event. */
  isLast(envelope: Envelope): boolean;
  /** How long a host that cannot be reached is tried. */
  patienceMs: number;
}

/** A host says that it is alive at least twice in this time, however it is set up. Milliseconds. */
const silenceMs = 60_000;
const firstPauseMs = 100;
const longestPauseMs = 5000;

/**
 * Events as they come. A stream that breaks is taken up after the last event that was read, again and again with longer
 * and longer pauses, until the host was out of reach for the given time.
 * @throws {ClientError} what the host reported; `network_error` when it was out of reach for too long
 */
export async function* followEvents(options: FollowOptions): AsyncGenerator<Envelope, void, void> {
  const { api, numberOf, isLast, patienceMs } = options;
  const { signal } = options.query;
  let { after } = options.query;
  let failures = 0;
  let lostAt: number | null = null;
  while (!signal?.aborted) {
    try {
      for await (const envelope of oneStream(options, after)) {
        failures = 0;
        lostAt = null;
        const number = numberOf(envelope);
        // A host never sends what was read; a proxy between might.
        if (after !== undefined && number <= after) continue;
        after = number;
        const last = isLast(envelope);
        yield envelope;
        if (last) return;
      }
      if (signal?.aborted) return;
      throw unreachable(api, null);
    } catch (error) {
      if (signal?.aborted) return;
      if (error instanceof Ended) return;
      if (!(error instanceof ClientError) || !isPassing(error)) throw error;
      lostAt ??= Date.now();
      if (Date.now() - lostAt >= patienceMs) throw error;
      const pauseMs = error.retryAfterMs ?? Math.min(longestPauseMs, firstPauseMs * 2 ** failures++);
      await pause(pauseMs * (0.8 + 0.4 * Math.random()), signal);
    }
  }
}

/** Nothing follows what is known. */
class Ended extends Error {}

async function* oneStream(
  { api, path, query }: FollowOptions,
  after: number | undefined,
): AsyncGenerator<Envelope, void, void> {
  const { signal, ...filter } = query;
  const over = new AbortController();
  const end = () => over.abort(signal?.reason);
  signal?.addEventListener("abort", end, { once: true });
  try {
    const response = await call(api, `${path}${queryText({ ...filter, after })}`, {
      headers: { accept: "application/x-ndjson" },
      signal: over.signal,
    });
    if (response.status === 204 || response.body === null) throw new Ended();
    yield* readEvents(alive(response.body, api, over));
  } finally {
    signal?.removeEventListener("abort", end);
    over.abort();
  }
}

/** The pieces of a body, which fails when the host is silent for too long: then the connection is dead. */
async function* alive(
  body: ReadableStream<Uint8Array>,
  api: Api,
  over: AbortController,
): AsyncGenerator<Uint8Array, void, void> {
  const reader = body.getReader();
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

/** Whether the same may go well a little later. */
function isPassing({ code }: ClientError): boolean {
  return ["network_error", "host_closed", "unavailable", "busy", "limit_exceeded"].includes(code);
}
