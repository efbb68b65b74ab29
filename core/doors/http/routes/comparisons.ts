import { Type } from "@sinclair/typebox";
import { propertiesOf } from "../../../ground/checks/properties-of.ts";
import { BulkheadError, errorDataOf } from "../../../../plugin-sdk/errors.ts";
import { type SessionRequest, sessionRequestSchema } from "../../../../plugin-sdk/request.ts";
import { closed, type SchemaOf } from "../../../../plugin-sdk/schema.ts";
import type { SessionSummary } from "../../../../plugin-sdk/session-summary.ts";
import { randomId } from "../../../ground/platform/files/hash.ts";
import { compareSessions, comparisonLabel } from "../../../sessions/host/run-all.ts";
import type { SessionHost } from "../../../sessions/host/session-host.ts";
import { type ApiRoute, json, ok, route } from "../route.ts";
import { count, maybe, named, text } from "../../../sessions/session/schemas/named.ts";
import { outcomeSchema, stopReasonSchema } from "../../../sessions/session/schemas/results.ts";

/** The body of a comparison: one request, and the adapters that all run it. */
interface ComparisonBody extends SessionRequest {
  adapters: string[];
}

const requestFields = propertiesOf(sessionRequestSchema);

const bodySchema: SchemaOf<ComparisonBody> = named(
  "StartComparison",
  Type.Unsafe<ComparisonBody>(Type.Object({
    ...requestFields,
    adapters: Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { minItems: 1, maxItems: 16 }),
  }, closed)),
);

/** Sessions of a list that are searched for comparisons. */
const mostSessions = 500;

const started = Type.Object({
  id: text,
  session_ids: Type.Array(text),
  passed_over: Type.Array(Type.Object({ adapter_id: text, reason: text })),
});

const compared = Type.Object({
  session_id: text,
  adapter_id: text,
  outcome: outcomeSchema,
  stop_reason: stopReasonSchema,
  duration_ms: Type.Number(),
  cost: maybe(Type.Number()),
  currency: maybe(text),
  tokens: maybe(Type.Number()),
  files_changed: maybe(count),
  lines_added: maybe(count),
  lines_removed: maybe(count),
  confidence: maybe(Type.Number()),
});

const comparison = named(
  "Comparison",
  Type.Object({
    id: text,
    title: text,
    started_at: text,
    running: Type.Array(Type.Object({ session_id: text, adapter_id: maybe(text) })),
    sessions: Type.Array(compared),
    overlapping_files: Type.Array(Type.Object({
      path: text,
      session_ids: Type.Array(text),
      same: Type.Boolean({ description: "all left the same content" }),
    })),
  }),
);

/** Routes that run one request on several agents at once, each in a worktree of its own. */
export const comparisonRoutes: readonly ApiRoute[] = [
  route({
    id: "startComparison",
    at: "POST /v1/comparisons",
    summary: "run one request on several agents at once, each in its own worktree",
    scope: "run",
    body: bodySchema,
    answers: { 201: { summary: "they have started", schema: started } },
    async handle({ body: { adapters, ...request }, sessions }) {
      const id = randomId().slice(0, 12);
      const own = { ...request, workspace: "worktree" as const, labels: { ...request.labels, [comparisonLabel]: id } };
      const ids = [...new Set(adapters)];
      const all = await Promise.allSettled(ids.map((adapter) => sessions.admit(own, { adapter })));
      const session_ids = all.flatMap((one) => one.status === "fulfilled" ? [one.value.session.id] : []);
      const refused = all.find((one) => one.status === "rejected");
      if (session_ids.length === 0 && refused !== undefined) throw refused.reason;
      const passed_over = all.flatMap((one, index) =>
        one.status === "rejected" ? [{ adapter_id: ids[index] ?? "", reason: reasonOf(one.reason) }] : []
      );
      return json({ id, session_ids, passed_over }, { status: 201 });
    },
  }),
  route({
    id: "listComparisons",
    at: "GET /v1/comparisons",
    summary: "list the comparisons among the newest sessions, the newest first",
    scope: "own",
    answers: ok(
      "all of them",
      Type.Object({
        comparisons: Type.Array(
          Type.Object({
            id: text,
            title: text,
            started_at: text,
            session_ids: Type.Array(text),
            adapter_ids: Type.Array(maybe(text)),
          }),
        ),
      }),
    ),
    async handle({ sessions }) {
      const groups = new Map<string, SessionSummary[]>();
      for (const one of await sessions.list({ limit: mostSessions })) {
        const id = one.labels[comparisonLabel];
        if (id !== undefined) groups.set(id, [one, ...groups.get(id) ?? []]);
      }
      const comparisons = [...groups].map(([id, [first, ...others]]) => ({
        id,
        title: first?.title ?? "",
        started_at: first?.started_at ?? "",
        session_ids: [first, ...others].flatMap((one) => one?.session_id ?? []),
        adapter_ids: [first, ...others].flatMap((one) => one === undefined ? [] : [one.adapter_id]),
      }));
      return json({ comparisons });
    },
  }),
  route({
    id: "getComparison",
    at: "GET /v1/comparisons/{id}",
    summary: "compare the outcomes of a comparison's sessions",
    scope: "own",
    answers: ok("those that have ended, compared", comparison),
    async handle({ params, sessions, workspaces }) {
      const id = params["id"] ?? "";
      const all = (await sessions.list({ labels: { [comparisonLabel]: id }, limit: 50 })).reverse();
      const [first] = all;
      if (first === undefined) {
        throw new BulkheadError("not_found", `There is no comparison "${id.slice(0, 64)}".`, {
          hint: '"GET /v1/comparisons" lists what there is.',
        });
      }
      const running = all.filter(({ state }) => state === "running");
      const results = await Promise.all(
        all.filter(({ state }) => state === "ended").map((one) => resultOf(sessions, one)),
      );
      const { title, started_at } = first;
      return json({
        id,
        title,
        started_at,
        running: running.map(({ session_id, adapter_id }) => ({ session_id, adapter_id })),
        ...await compareSessions({ workspaces }, results),
      });
    },
  }),
];

async function resultOf(sessions: SessionHost, { session_id }: SessionSummary) {
  return await (await sessions.open(session_id)).result();
}

function reasonOf(error: unknown): string {
  return errorDataOf(error)?.message ?? "It could not be started.";
}
