import { Type } from "@sinclair/typebox";
import type { CapabilityEvent } from "../../../../plugin-sdk/envelope.ts";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { closed, exactly, type SchemaOf } from "../../../../plugin-sdk/schema.ts";
import type { BudgetReport } from "../../../../plugin-sdk/budget-report.ts";
import type { UsageRow } from "../../../../plugin-sdk/usage-row.ts";
import { grantable } from "../../../packages/manifest/grantable.ts";
import type { Judgement } from "../../../packages/permissions/try-grant.ts";
import { nextTurn } from "../../../ground/platform/engine/next-turn.ts";
import type { HistoryQueries, PermissionUse } from "../../../records/history/history-queries.ts";
import type { SessionHost } from "../../../sessions/host/session-host.ts";
import { type ApiRoute, json, ok, route } from "../route.ts";
import { count, maybe, named, oneOf, text } from "../../../sessions/session/schemas/named.ts";
import { pastUse, Standings } from "../denied-uses.ts";
import { sessionSummarySchema } from "../schemas/sessions.ts";

const adapterId = Type.String({ minLength: 1, maxLength: 256 });
const before = Type.Optional(Type.Integer({ minimum: 1, description: "next of the page before" }));
const progress = { indexed_to: count, last: count };

const limit = Type.Optional(Type.Integer({ minimum: 1, maximum: 500, description: "default 100" }));
const call = { session_id: text, seq: count, at: text, adapter_id: text, permission: text, target: text };

const denialsQuery = Type.Object({ adapter: Type.Optional(adapterId), before, limit }, closed);

const standingFields = {
  now: oneOf(["allowed", "grantable", "refused"] as const),
  grants: Type.Array(Type.Object({ permission: text, target: text }), {
    description: "grants that would allow it now, each as narrow as the manifest asks",
  }),
};

const denial = named(
  "Denial",
  Type.Object({
    ...call,
    reason: text,
    grant_command: maybe(text),
    grantable: Type.Boolean({ description: "whether that command was enough then" }),
    ...standingFields,
  }),
);

const callsQuery = Type.Object({
  adapter: Type.Optional(adapterId),
  decision: Type.Optional(oneOf(["allowed", "denied"] as const)),
  before,
  limit,
}, closed);

const brokerCall = named(
  "BrokerCall",
  Type.Object({ ...call, gseq: count, decision: oneOf(["allowed", "denied"] as const) }),
);

const previewBody = Type.Object({
  permission: oneOf(grantable),
  target: Type.String({ minLength: 1, maxLength: 4096 }),
}, closed);

const preview = Type.Object({
  allowed: Type.Integer({ description: "uses in the journal that this grant covers" }),
  refused: Type.Integer({ description: "uses that it does not cover" }),
  unclear: Type.Integer({ description: "uses of a program whose arguments decide: the journal does not have them" }),
  newly_allowed: Type.Integer({ description: "of the allowed ones, those that were denied at the time" }),
  searched: count,
  examples: Type.Array(Type.Object({
    session_id: text,
    seq: count,
    at: text,
    permission: text,
    target: text,
    was: oneOf(["allowed", "denied"] as const),
    decision: oneOf(["allowed", "refused", "unclear"] as const),
  })),
  allows: Type.Array(Type.Object({ permission: text, target: text }), {
    description: "rows of the plugin's permissions that the grant would allow, or allow more of",
  }),
  ...progress,
});

const momentQuery = Type.Object({
  at: Type.Optional(Type.String({ maxLength: 64, description: "a gseq, or an RFC 3339 time; default: now" })),
}, closed);

const spendQuery = Type.Object({
  days: Type.Optional(Type.Integer({ minimum: 1, maximum: 3660, description: "today included; default 30" })),
  adapter: Type.Optional(adapterId),
  time_zone: Type.Optional(
    Type.String({ minLength: 1, maxLength: 64, description: "IANA name; days are UTC without it" }),
  ),
  label: Type.Optional(
    Type.String({ minLength: 1, maxLength: 64, description: "name of a label: rows are apart by its values" }),
  ),
}, closed);

const spendRow: SchemaOf<UsageRow> = named(
  "SpendRow",
  exactly<UsageRow>()(Type.Object({
    day: text,
    adapter_id: text,
    model: maybe(text),
    basis: oneOf(["wire", "reported", "estimated", "unknown"] as const),
    cost: maybe(Type.Number()),
    currency: maybe(text),
    tokens_in: maybe(Type.Number()),
    tokens_out: maybe(Type.Number()),
    tokens_cached: maybe(Type.Number({ description: "the part of tokens_in that came from a cache" })),
    sessions: count,
    partial: Type.Integer({ minimum: 0, description: "of these sessions, those whose tokens are at least these" }),
    requests: maybe(Type.Number({ description: "requests to the model that the host counted: it holds the key" })),
    label: Type.Optional(maybe(text)),
  })),
);

const budgetRow: SchemaOf<BudgetReport> = named(
  "Budget",
  exactly<BudgetReport>()(Type.Object({
    name: text,
    labels: Type.Record(Type.String(), Type.String()),
    per: maybe(oneOf(["day", "month"] as const)),
    since: maybe(text),
    until: maybe(text),
    cost: maybe(Type.Number({ description: "the most; null: not limited" })),
    tokens: maybe(Type.Number()),
    spent_cost: Type.Number(),
    spent_tokens: Type.Number(),
    currency: maybe(text),
    unpriced: Type.Integer({ minimum: 0, description: "calls and sessions whose cost is not known" }),
    is_held: Type.Boolean({ description: "in a cluster no budget can be" }),
  })),
);

/** Uses of a permission that a preview looks at, and those that it shows. */
const mostUses = 20_000;
/** Uses that are judged in one turn of this thread. */
const usesInATurn = 500;
const mostExamples = 20;
/** Sessions whose folders a preview looks up. */
const mostWorkdirs = 200;
/** Sessions of a moment. */
const mostSessions = 200;

/** Routes that ask the history of all sessions. */
export const historyRoutes: readonly ApiRoute[] = [
  route({
    id: "listDenials",
    at: "GET /v1/denials",
    summary: "list what plugins and agents were denied, the newest first, with the grant that would change it",
    scope: "read",
    query: denialsQuery,
    answers: ok(
      "a page; next is null on the last",
      Type.Object({ denials: Type.Array(denial), next: maybe(count), ...progress }),
    ),
    handle: async ({ query: { adapter, before = Number.MAX_SAFE_INTEGER, limit = 100 } }, { facts }) =>
      json(
        await facts.history.ask((queries) => {
          const filter = { decision: "denied" as const, adapter };
          const uses = queries.uses(filter, { before, limit });
          const standings = new Standings(facts.plugins);
          const denials = uses.map((one) => ({ ...denialOf(one), ...standings.of(one) }));
          return { denials, next: uses.length < limit ? null : uses.at(-1)?.gseq ?? null };
        }),
      ),
  }),
  route({
    id: "listCalls",
    at: "GET /v1/calls",
    summary: "list what plugins and agents asked of the broker and what it decided, the newest first",
    scope: "read",
    query: callsQuery,
    answers: ok(
      "a page; next is null on the last",
      Type.Object({ calls: Type.Array(brokerCall), next: maybe(count), ...progress }),
    ),
    handle: async ({ query: { before = Number.MAX_SAFE_INTEGER, limit = 100, ...filter } }, { facts }) =>
      json(
        await facts.history.ask((queries) => {
          const uses = queries.uses(filter, { before, limit });
          const calls = uses.map(({ event: { permission, target, decision }, ...where }) => ({
            ...where,
            permission,
            target,
            decision,
          }));
          return { calls, next: uses.length < limit ? null : uses.at(-1)?.gseq ?? null };
        }),
      ),
  }),
  route({
    id: "previewGrant",
    at: "POST /v1/plugins/{id}/grants/preview",
    summary: "show what a grant would have allowed and refused in the history of a plugin",
    scope: "admin",
    body: previewBody,
    answers: ok("counts, and examples of both", preview),
    async handle({ params, body, sessions }, { facts }) {
      const { allows, judge } = facts.plugins.tried(params["id"] ?? "", body);
      const found = await facts.history.ask(async (queries) => {
        const { permission } = body;
        const newest = { before: Number.MAX_SAFE_INTEGER, limit: mostUses };
        const uses = queries.uses({ adapter: params["id"], permission }, newest);
        const isFile = permission === "read" || permission === "write";
        const workdirs = isFile ? await workdirsOf(uses, sessions) : new Map<string, string>();
        const judged: JudgedUse[] = [];
        for (const use of uses) {
          judged.push({ use, decision: judge(pastUse(use, workdirs)) });
          if (judged.length % usesInATurn === 0) await nextTurn();
        }
        return previewOf(judged);
      });
      return json({ ...found, allows });
    },
  }),
  route({
    id: "spend",
    at: "GET /v1/spend",
    summary: "show what sessions cost, for each day, agent and model",
    scope: "read",
    query: spendQuery,
    answers: ok(
      "by the day on which sessions began; reported, estimated and unknown costs stand in rows of their own",
      Type.Object({ rows: Type.Array(spendRow) }),
    ),
    handle: async ({ query, sessions }) => json({ rows: await sessions.usage(query) }),
  }),
  route({
    id: "budgets",
    at: "GET /v1/budgets",
    summary: "show what the sessions of each budget of bulkhead.yaml have used",
    scope: "read",
    answers: ok("in the order in which they are written", Type.Object({ budgets: Type.Array(budgetRow) })),
    handle: async ({ sessions }) => json({ budgets: await sessions.budgets() }),
  }),
  route({
    id: "verify",
    at: "GET /v1/verify",
    summary: "check that every event in the journal is as the host wrote it",
    scope: "admin",
    answers: ok(
      "what was found",
      Type.Object({
        ok: Type.Boolean(),
        events: count,
        batches: count,
        problems: Type.Array(Type.Object({})),
      }),
    ),
    handle: async (_, { facts }) => json(await facts.verify()),
  }),
  route({
    id: "moment",
    at: "GET /v1/moment",
    summary: "show the host as it was at an event or at a time",
    scope: "read",
    query: momentQuery,
    answers: ok(
      "its sessions then, the newest first",
      Type.Object({
        gseq: count,
        at: maybe(text),
        sessions: Type.Array(
          Type.Intersect([
            sessionSummarySchema,
            Type.Object({ requests: Type.Integer({ description: "that waited for an answer then" }) }),
          ]),
        ),
        counts: Type.Object({ running: count, ended: count, waiting: count }),
        ...progress,
      }),
    ),
    async handle({ query: { at }, sessions }, { facts }) {
      const then = await facts.history.ask((queries) => moment(at, { queries, sessions }));
      return json(at === undefined ? { ...then, gseq: then.last } : then);
    },
  }),
];

function denialOf({ session_id, seq, at, adapter_id, event }: PermissionUse) {
  const { permission, target, grant_command = null, grantable } = event;
  return {
    session_id,
    seq,
    at,
    adapter_id,
    permission,
    target,
    reason: reasonOf(event),
    grant_command,
    grantable: grantable !== false && grant_command !== null,
  };
}

function reasonOf({ grantable, manifest_entry, grant_command, reason }: CapabilityEvent): string {
  if (reason !== undefined) return reason;
  if (manifest_entry !== undefined) return `plugin.yaml does not ask for it. It lacks: ${manifest_entry}`;
  if (grantable === false) return "A denial or the session's request takes it away.";
  return grant_command === undefined ? "No grant allows it." : "It is not granted.";
}

/** Folders of the newest sessions of some uses. */
async function workdirsOf(uses: readonly PermissionUse[], sessions: Pick<SessionHost, "get">) {
  const ids = [...new Set(uses.map(({ session_id }) => session_id))].slice(0, mostWorkdirs);
  const found = await Promise.all(ids.map(async (id) => {
    const summary = await sessions.get(id).catch(() => null);
    return summary === null ? [] : [[id, summary.workdir] as const];
  }));
  return new Map(found.flat());
}

interface JudgedUse {
  use: PermissionUse;
  decision: Judgement;
}

function previewOf(judged: readonly JudgedUse[]) {
  const of = (wanted: Judgement) => judged.filter(({ decision }) => decision === wanted);
  const [allowed, refused, unclear] = [of("allowed"), of("refused"), of("unclear")];
  const wasDenied = ({ use }: { use: PermissionUse }) => use.event.decision === "denied";
  // Changes come first: a person decides about them.
  const shown = [...allowed.filter(wasDenied), ...unclear.filter(wasDenied), ...refused, ...allowed, ...unclear];
  return {
    allowed: allowed.length,
    refused: refused.length,
    unclear: unclear.length,
    newly_allowed: allowed.filter(wasDenied).length,
    searched: judged.length,
    examples: [...new Set(shown)].slice(0, mostExamples).map(({ use: { session_id, seq, at, event }, decision }) => ({
      session_id,
      seq,
      at,
      permission: event.permission,
      target: event.target,
      was: event.decision,
      decision,
    })),
  };
}

async function moment(
  at: string | undefined,
  { queries, sessions }: { queries: HistoryQueries; sessions: SessionHost },
) {
  const gseq = at === undefined ? Number.MAX_SAFE_INTEGER : numberOf(at, queries);
  const then = await Promise.all(
    queries.sessionsAt(gseq, mostSessions).map(async ({ session_id, state, waiting }) => {
      const summary = await sessions.get(session_id).catch(() => null);
      if (summary === null) return [];
      const ending = state === "ended" ? {} : { ended_at: null, outcome: null, stop_reason: null };
      // Only the number of requests that were answered since is known.
      return [{ ...summary, ...ending, state, waiting: at === undefined ? summary.waiting : [], requests: waiting }];
    }),
  );
  const time = at === undefined ? new Date().toISOString() : queries.timeAt(gseq);
  return { gseq, at: time, sessions: then.flat(), counts: queries.countsAt(gseq) };
}

/** @throws {BulkheadError} `invalid_request` */
function numberOf(at: string, queries: HistoryQueries): number {
  if (/^(0|[1-9]\d{0,15})$/.test(at)) return Number(at);
  const ms = Date.parse(at);
  if (Number.isNaN(ms)) {
    throw new BulkheadError("invalid_request", "Cannot show this moment: it is neither a number nor a time.", {
      hint: "Give the gseq of an event, or a time such as 2026-01-31T12:00:00Z.",
    });
  }
  return queries.numberAt(new Date(ms).toISOString()) ?? 0;
}
