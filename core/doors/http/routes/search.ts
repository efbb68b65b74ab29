import { type Static, Type } from "@sinclair/typebox";
import type { Envelope } from "../../../../plugin-sdk/envelope.ts";
import { closed } from "../../../../plugin-sdk/schema.ts";
import { nextTurn } from "../../../ground/platform/engine/next-turn.ts";
import { eventText } from "../../../records/history/event-text.ts";
import { type HistoryQueries, wordQuery } from "../../../records/history/history-queries.ts";
import type { JournalReader } from "../../../records/journal/journal-reader.ts";
import { labelQuery, labelsOf } from "../label-query.ts";
import { type ApiRoute, type Call, json, ok, route } from "../route.ts";
import { searchKindOf, searchKinds, shownText } from "../search-kinds.ts";
import { count, maybe, named, oneOf, text } from "../../../sessions/session/schemas/named.ts";

type SearchQuery = Static<typeof searchQuery>;

const searchQuery = Type.Object({
  q: Type.String({ minLength: 1, maxLength: 512, description: "words; the last may be the beginning of one" }),
  adapter: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: "the agent that said it" })),
  label: labelQuery,
  kind: Type.Optional(oneOf(searchKinds, "of the places")),
  before: Type.Optional(Type.Integer({ minimum: 1, description: "next of the page before" })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: "default 30" })),
}, closed);

const hit = named(
  "SearchHit",
  Type.Object({
    session_id: text,
    seq: count,
    gseq: count,
    at: text,
    adapter_id: text,
    type: text,
    kind: maybe(oneOf(searchKinds)),
    title: Type.String({ description: "of the session" }),
    workdir: text,
    text: Type.String({ description: "around the first word that was found" }),
    marks: Type.Array(Type.Array(count), { description: "start and length of each word in the text" }),
  }),
);

/** The route that searches the text of all sessions. */
export const searchRoutes: readonly ApiRoute[] = [
  route({
    id: "search",
    at: "GET /v1/search",
    summary: "search the text of all sessions, the newest first",
    scope: "own",
    query: searchQuery,
    answers: ok(
      "a page; next is null on the last",
      Type.Object({ hits: Type.Array(hit), next: maybe(count), indexed_to: count, last: count }),
    ),
    async handle({ query, sessions, signal }, { facts }) {
      const answer = await facts.history.ask((queries, journal) =>
        search(query, { queries, journal, sessions, signal })
      );
      if (sessions.seesAll()) return json(answer);
      // The numbers count the events of all sessions: tell only whether the index has them.
      return json({ ...answer, indexed_to: answer.indexed_to < answer.last ? 0 : 1, last: 1 });
    },
  }),
];

interface SearchDeps {
  queries: HistoryQueries;
  journal: JournalReader;
  sessions: Pick<Call["sessions"], "get" | "sees" | "seesAll">;
  signal: AbortSignal;
}

/** Looks at the index that one search takes. A caller that sees only its own sessions learns nothing by its end. */
const mostLooks = 10;

async function search(
  { q, adapter, label = [], kind, before = Number.MAX_SAFE_INTEGER, limit = 30 }: SearchQuery,
  { queries, journal, sessions, signal }: SearchDeps,
) {
  const query = wordQuery(q);
  const labels = labelsOf(label);
  const hits = [];
  let next = query === null ? null : before;
  const isShown = sessions.seesAll() ? undefined : (sessionId: string) => sessions.sees(sessionId);
  const most = isShown === undefined ? mostLooks : Infinity;
  for (let looks = 0; query !== null && next !== null && looks < most && hits.length < limit; looks++) {
    signal.throwIfAborted();
    const page = queries.findWords(query, { before: next, limit: limit - hits.length, adapter, labels, isShown });
    for (const gseq of page.found) {
      const one = await hitAt(gseq, { q, journal });
      if (one === null || kind !== undefined && one.kind !== kind) continue;
      // Another token's session is not there.
      const session = await sessions.get(one.session_id).catch(() => null);
      if (session !== null) hits.push({ ...one, title: session.title, workdir: session.workdir });
    }
    next = page.next;
    await nextTurn();
  }
  return { hits, next };
}

/** Events that are read for the text of one hit: agents print their answers in pieces. */
const mostPieces = 400;
/** Characters before and after the first word that was found. */
const around = 120;

async function hitAt(gseq: number, { q, journal }: { q: string; journal: JournalReader }) {
  const [first] = await journal.read({ after: gseq - 1, limit: 1, skipDamaged: true });
  if (first === undefined || first.gseq !== gseq || first.event.type === "gap") return null;
  const whole = first.event.type === "output" || first.event.type === "thinking"
    ? joinedText(
      await journal.read({ after: gseq - 1, sessionId: first.session_id, limit: mostPieces, skipDamaged: true }),
    )
    : shownText(first.event);
  const words = q.split(/[^\p{L}\p{N}_]+/u).filter((word) => word !== "").map(escaped);
  const matcher = new RegExp(`(?<![\\p{L}\\p{N}_])(?:${words.join("|")})`, "giu");
  const start = Math.max(0, (matcher.exec(whole)?.index ?? 0) - around);
  const shown = whole.slice(start, start + 3 * around);
  matcher.lastIndex = 0;
  const { session_id, seq, ts, adapter, event } = first;
  const kind = searchKindOf(event);
  return {
    session_id,
    seq,
    gseq,
    at: ts,
    adapter_id: adapter.id,
    type: event.type,
    kind,
    text: shown,
    marks: [...shown.matchAll(matcher)].slice(0, 64).map((match) => [match.index, match[0].length]),
  };
}

function joinedText(envelopes: readonly Envelope[]): string {
  const kind = envelopes[0]?.event.type;
  const end = envelopes.findIndex(({ event }) => event.type !== kind);
  const pieces = end === -1 ? envelopes : envelopes.slice(0, end);
  return pieces.map(({ event }) => event.type === "output" ? event.data : eventText(event)).join("");
}

function escaped(word: string): string {
  return word.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
