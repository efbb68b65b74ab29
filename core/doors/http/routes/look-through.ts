import { type Static, Type } from "@sinclair/typebox";
import type { Envelope } from "../../../../plugin-sdk/envelope.ts";
import { closed } from "../../../../plugin-sdk/schema.ts";
import { eventText } from "../../../records/history/event-text.ts";
import type { SessionHandle } from "../../../sessions/host/session-host.ts";
import { count, maybe, named, text } from "../../../sessions/session/schemas/named.ts";
import { type ApiRoute, json, ok, route } from "../route.ts";

/** Events that one search looks at: a long session takes several. */
const mostEvents = 10_000;
/** Events before the first one that are read for the beginning of a text that goes on there. */
const readBefore = 20;
/** Places that one search tells. */
const mostHits = 500;
/** Events that are read for the time of one: about a batch of the journal. */
const readAhead = 512;
/** Characters before and after what was found. */
const around = 80;

type FindQuery = Static<typeof findQuery>;

const findQuery = Type.Object({
  text: Type.String({ minLength: 1, maxLength: 256, description: "as it stands there, in any case" }),
  after: Type.Optional(Type.Integer({ minimum: 0, description: "next of the call before" })),
}, closed);

const hit = named("TextHit", Type.Object({ seq: count, at: text, type: text, text }));

const activityQuery = Type.Object({
  points: Type.Optional(Type.Integer({ minimum: 2, maximum: 500, description: "default 80" })),
}, closed);

/** Routes to look through one session of any length. */
export const lookThroughRoutes: readonly ApiRoute[] = [
  route({
    id: "findInSession",
    at: "GET /v1/sessions/{id}/find",
    summary: "find a text in the events of a session, from its first on",
    scope: "own",
    query: findQuery,
    answers: ok(
      "where it stands, with what is around it; next is null after the last event",
      Type.Object({ hits: Type.Array(hit), next: maybe(count), last: count }),
    ),
    async handle({ params: { id = "" }, query, sessions, signal }) {
      const session = await sessions.open(id);
      const { last_seq: last } = await sessions.get(id);
      return json(await find(session, { ...query, last, signal }));
    },
  }),
  route({
    id: "sessionActivity",
    at: "GET /v1/sessions/{id}/activity",
    summary: "tell when a session's events came, by some of them that are equally far apart",
    scope: "own",
    query: activityQuery,
    answers: ok(
      "numbers of events with their times, the first and the newest among them",
      Type.Object({ points: Type.Array(Type.Object({ seq: count, at: text })) }),
    ),
    async handle({ params: { id = "" }, query: { points = 80 }, sessions, signal }) {
      const session = await sessions.open(id);
      const { last_seq: last } = await sessions.get(id);
      const most = Math.min(points, last);
      const found = [];
      for (let place = 0; place < most; place++) {
        const seq = most === 1 ? 1 : 1 + Math.round(place * (last - 1) / (most - 1));
        const at = await timeOf(session, { seq, signal });
        if (at !== null) found.push({ seq, at });
      }
      return json({ points: found });
    },
  }),
];

async function timeOf(
  session: SessionHandle,
  { seq, signal }: { seq: number; signal: AbortSignal },
): Promise<string | null> {
  for await (const { ts } of session.events({ after: seq - 1, signal, readAhead })) return ts;
  return null;
}

interface FindOptions extends FindQuery {
  last: number;
  signal: AbortSignal;
}

async function find(session: SessionHandle, { text: wanted, after = 0, last, signal }: FindOptions) {
  let end = Math.min(last, after + mostEvents);
  const hits = [];
  // Agents print their words in pieces: what one piece begins may end in the next.
  let before: { kind: string; end: string } | null = null;
  const needle = wanted.toLowerCase();
  if (after < end) {
    for await (const { seq, ts: at, event } of session.events({ after: Math.max(0, after - readBefore), signal })) {
      const kind = pieceKind(event);
      const joined: string = kind !== null && before?.kind === kind ? before.end : "";
      const whole = joined + searchedText(event);
      const place = whole.toLowerCase().indexOf(needle, Math.max(0, joined.length - needle.length + 1));
      if (place >= 0 && seq > after) {
        hits.push({ seq, at, type: event.type, text: excerpt(whole, place, wanted.length) });
      }
      if (kind !== null) before = { kind, end: whole.slice(-Math.max(around, wanted.length)) };
      else if (!isSilent(event)) before = null;
      if (hits.length === mostHits) end = seq;
      if (seq >= end) break;
    }
  }
  return { hits, next: end < last ? end : null, last };
}

function searchedText(event: Envelope["event"]): string {
  return event.type === "output" ? event.data : eventText(event);
}

function pieceKind(event: Envelope["event"]): string | null {
  return event.type === "output" ? event.stream : event.type === "thinking" ? event.type : null;
}

/** Whether an event stands between two pieces of a text and does not part them. */
function isSilent({ type }: Envelope["event"]): boolean {
  return type === "usage" || type === "capability";
}

function excerpt(whole: string, place: number, length: number): string {
  return whole.slice(Math.max(0, place - around), place + length + around).replace(/\s+/g, " ").trim();
}
