import { nullIfNotFound } from "../../../ground/errors/to-error-data.ts";
import { type Static, Type } from "@sinclair/typebox";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import type { Envelope } from "../../../../plugin-sdk/envelope.ts";
import { closed } from "../../../../plugin-sdk/schema.ts";
import type { SessionHost } from "../../../sessions/host/session-host.ts";
import { isWanted, labelled } from "../event-filter.ts";
import {
  chainFraming,
  type EventFraming,
  type EventId,
  lineFraming,
  mergedFraming,
  sessionFraming,
} from "../event-framing.ts";
import { eventStream } from "../event-stream.ts";
import type { Meters } from "../meters.ts";
import type { Caller } from "../scopes.ts";
import { labelQuery } from "../label-query.ts";
import { type ApiRoute, type ApiRouteDeps, type Call, route, type RouteAnswer } from "../route.ts";
import { envelopeSchema } from "../schemas/events.ts";
import { oneOf } from "../../../sessions/session/schemas/named.ts";

/** A cursor of a cluster, in the form that events carry. */
const clusterCursor = /^c1\.[A-Za-z0-9_-]+$/;
const longestCursor = 65_536;

const fields = {
  after: Type.Optional(Type.Integer({ minimum: 0, description: "the number of the last event that is known" })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000, description: "events after which it ends" })),
  follow: Type.Optional(oneOf(["true", "false"] as const, "false: it ends with the newest event that there is")),
  type: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { maxItems: 64 })),
  kind: Type.Optional(
    Type.Array(oneOf(["reasoning", "tool-call", "tool-result", "output"] as const), { maxItems: 4 }),
  ),
  adapter: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { maxItems: 64 })),
  agent: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 256,
      description: "an agent of the agent: its events, and its own agents' beginnings",
    }),
  ),
};
const eventsQuery = Type.Object(fields, closed);
const { follow: _, ...chainFields } = fields;
type EventsQuery = Static<typeof eventsQuery>;
const mergedQuery = Type.Object({
  ...fields,
  cursor: Type.Optional(Type.String({
    pattern: clusterCursor.source,
    maxLength: longestCursor,
    description: "in a cluster, the cursor of the last event that is known; counts before after",
  })),
  label: labelQuery,
}, closed);

const heads = [
  { name: "Last-Event-ID", summary: "the id of the last event that is known; counts before after" },
  { name: "Accept", summary: "application/x-ndjson for one envelope a line; default: server-sent events" },
];
const streamed: RouteAnswer = {
  summary: "events as they come",
  schema: envelopeSchema,
  types: ["text/event-stream", "application/x-ndjson"],
};

/** Routes for the events of one session, and of all. */
export const eventRoutes: readonly ApiRoute[] = [
  route({
    id: "sessionEvents",
    at: "GET /v1/sessions/{id}/events",
    summary: "follow a session's events, from its first on; ids are its seq",
    scope: "own",
    query: eventsQuery,
    heads,
    answers: { 200: streamed, 204: { summary: "it has ended, and there is nothing after what is known" } },
    async handle(call, deps) {
      const id = call.params["id"] ?? "";
      const after = cursorOf(call) ?? 0;
      const session = await call.sessions.open(id);
      const last = call.query.follow === "false" ? await newestOf(id, call.sessions) : null;
      // A browser's own client reconnects forever after any other status.
      if (last !== null && after >= last || await isOver(id, after, call.sessions)) {
        return new Response(null, { status: 204 });
      }
      return stream(call, deps, {
        open: (signal) => session.events({ after, signal }),
        framing: sessionFraming,
        last: last ?? undefined,
      });
    },
  }),
  route({
    id: "conversationEvents",
    at: "GET /v1/conversations/{id}/events",
    summary: "follow the events of a conversation's sessions, one after the other; ids are their gseq",
    scope: "own",
    query: Type.Object(chainFields, closed),
    heads,
    answers: { 200: streamed, 204: { summary: "it has ended, and there is nothing after what is known" } },
    async handle(call, deps) {
      const { params: { id = "" }, sessions: { conversations } } = call;
      const after = cursorOf(call) ?? 0;
      const open = (signal?: AbortSignal) => conversations.events(id, { after, signal });
      if ((await conversations.get(id)).state === "ended" && await isEmpty(open())) {
        return new Response(null, { status: 204 });
      }
      return stream(call, deps, { open, framing: chainFraming });
    },
  }),
  route({
    id: "allEvents",
    at: "GET /v1/events",
    summary: "follow the events of all sessions, from now on; ids are their gseq, in a cluster their cursor",
    scope: "own",
    query: mergedQuery,
    heads,
    answers: { 200: streamed },
    handle(call, deps) {
      const where = mergedStart(call);
      const { label, follow } = call.query;
      if (follow === "false") {
        throw new BulkheadError("invalid_request", "Cannot end the stream of all sessions at their newest event.", {
          hint: "Ask for one session's events, or give a limit.",
        });
      }
      const { sessions } = call;
      const open = (signal: AbortSignal) => sessions.events({ ...where, signal });
      return stream(call, deps, {
        open: label === undefined ? open : (signal) => labelled(open(signal), { wanted: label, sessions }),
        framing: mergedFraming,
      });
    },
  }),
];

/** The number of a session's newest event; null for a deleted one, whose stream ends by itself. */
async function newestOf(id: string, sessions: SessionHost): Promise<number | null> {
  return await sessions.get(id).then(({ last_seq }) => last_seq, nullIfNotFound);
}

/** Whether a session has ended and no event follows. A deleted session may still have a gap to report. */
async function isOver(id: string, after: number, sessions: SessionHost): Promise<boolean> {
  const summary = await sessions.get(id).catch(nullIfNotFound);
  if (summary !== null) return summary.state === "ended" && after >= summary.last_seq;
  return await isEmpty((await sessions.open(id)).events({ after }));
}

async function isEmpty(events: AsyncIterable<Envelope>): Promise<boolean> {
  for await (const _ of events) return false;
  return true;
}

interface Source {
  open(signal: AbortSignal): AsyncIterable<Envelope>;
  /** How it is written, unless the client asks for lines. */
  framing: EventFraming;
  /** Number of the event with which it ends; absent: it goes on. */
  last?: number | undefined;
}

function stream(call: Call<EventsQuery>, deps: ApiRouteDeps, { open, framing, last = Infinity }: Source): Response {
  const { caller, query, headers, signal } = call;
  const { meters, streamTokens, limits } = deps;
  const over = new AbortController();
  let isOver = false;
  const end = () => {
    isOver = true;
    over.abort();
  };
  const opened = open(over.signal);
  const form = wantsLines(headers.get("accept")) ? lineFraming : framing;
  const frames = new EventFrames(query, form);
  const isLast = (envelope: Envelope) => frames.isFull || envelope.seq >= last;
  const events = query.limit === undefined && last === Infinity ? opened : ending(opened, isLast);
  const closeStream = countStream(meters, caller, end);
  const unwatch = streamTokens.watch(caller, end);
  signal.addEventListener("abort", end, { once: true });
  const body = eventStream({
    events,
    frame: (envelope) => isOver ? null : frames.of(envelope),
    frameShared: (envelopes) => isOver ? null : frames.ofShared(envelopes),
    heartbeatMs: limits.http_heartbeat_ms,
    idle: () => frames.idle(),
    done() {
      signal.removeEventListener("abort", end);
      end();
      unwatch();
      closeStream();
    },
  });
  return new Response(body, { headers: { "content-type": form.contentType, "x-accel-buffering": "no" } });
}

/** The text of one stream's events, those that the query wants. */
class EventFrames {
  readonly #query: EventsQuery;
  readonly #form: EventFraming;
  /** Id of the last event that passed, and of the last that the client was told. */
  #passed: EventId = 0;
  #told: EventId = 0;
  /** Events that the query still takes. */
  #left: number;

  constructor(query: EventsQuery, form: EventFraming) {
    this.#query = query;
    this.#form = form;
    this.#left = query.limit ?? Infinity;
  }

  /** Whether the client has as many events as it asked for. */
  get isFull(): boolean {
    return this.#left <= 0;
  }

  of(envelope: Envelope): string | null {
    this.#passed = this.#form.idOf(envelope);
    if (!isWanted(envelope, this.#query)) return null;
    this.#told = this.#passed;
    this.#left--;
    return this.#form.text(envelope);
  }

  /** Returns the bytes of events, which are the same for all readers of all events; null for a reader of some. */
  ofShared(envelopes: readonly Envelope[]): Uint8Array | null {
    const { type, kind, adapter, agent } = this.#query;
    if (type ?? kind ?? adapter ?? agent) return null;
    this.#passed = this.#told = this.#form.idOf(envelopes.at(-1)!);
    return this.#form.bytes(envelopes);
  }

  /** Returns the text that keeps a silent stream alive. */
  idle(): string {
    if (this.#form === lineFraming) return "\n";
    // Send only the id, so that a client that resumes does not search the filtered events again.
    return this.#passed !== this.#told ? `id: ${this.#told = this.#passed}\n\n` : ": still here\n\n";
  }
}

/** Yields up to the event after which no other is wanted. */
async function* ending(events: AsyncIterable<Envelope>, isLast: (envelope: Envelope) => boolean) {
  for await (const envelope of events) {
    yield envelope;
    if (isLast(envelope)) return;
  }
}

/** @throws {BulkheadError} `limit_exceeded`, `host_closed`; the resources opened for the stream are then closed */
function countStream(meters: Meters, caller: Caller, end: () => void): () => void {
  try {
    return meters.openStream(caller, end);
  } catch (error) {
    end();
    throw error;
  }
}

/** Returns the place at which a stream of all sessions begins. */
function mergedStart(call: Call<Static<typeof mergedQuery>>): { after?: number; cursor?: string } {
  const id = call.headers.get("last-event-id");
  const cursor = id !== null && id.length <= longestCursor && clusterCursor.test(id) ? id : call.query.cursor;
  if (cursor !== undefined) return { cursor };
  const after = cursorOf(call);
  return after === null ? {} : { after };
}

/** @throws {BulkheadError} `invalid_request` */
function cursorOf({ query, headers }: Call<EventsQuery>): number | null {
  const known = headers.get("last-event-id");
  if (known === null || known === "") return query.after ?? null;
  if (/^(0|[1-9]\d{0,15})$/.test(known) && Number.isSafeInteger(Number(known))) return Number(known);
  throw new BulkheadError("invalid_request", "The header Last-Event-ID is not the id of an event.");
}

function wantsLines(accept: string | null): boolean {
  return accept !== null && accept.includes("application/x-ndjson") && !accept.includes("text/event-stream");
}
