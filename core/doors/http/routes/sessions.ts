import { type Static, Type } from "@sinclair/typebox";
import { propertiesOf } from "../../../ground/checks/properties-of.ts";
import type { AgentCapabilities } from "../../../../plugin-sdk/capabilities.ts";
import { agentCapabilitiesSchema } from "../../../../plugin-sdk/capabilities.ts";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { type SessionRequest, sessionRequestSchema } from "../../../../plugin-sdk/request.ts";
import { readTraceparent } from "../../../ground/checks/trace-context.ts";
import { omitUndefined } from "../../../../plugin-sdk/optional-fields.ts";
import { closed, type SchemaOf } from "../../../../plugin-sdk/schema.ts";
import type { SessionQuery } from "../../../../plugin-sdk/queries.ts";
import { labelQuery, labelsOf } from "../label-query.ts";
import { type ApiRoute, json, ok, route } from "../route.ts";
import { named, oneOf } from "../../../sessions/session/schemas/named.ts";
import { sessionCountsSchema, sessionSchema, sessionSummarySchema } from "../schemas/sessions.ts";

/** The body of a start: the request of `run_session`, and the adapters to run it. */
interface StartBody extends SessionRequest {
  adapter?: string | string[];
  require?: AgentCapabilities;
  artifacts?: "git" | "none";
}

const adapterId = Type.String({ minLength: 1, maxLength: 256 });
const requestFields = propertiesOf(sessionRequestSchema);

const startBodySchema: SchemaOf<StartBody> = named(
  "StartSession",
  Type.Unsafe<StartBody>(Type.Object({
    ...requestFields,
    adapter: Type.Optional(Type.Union([adapterId, Type.Array(adapterId, { minItems: 1, maxItems: 64 })])),
    require: Type.Optional(agentCapabilitiesSchema),
    artifacts: Type.Optional(oneOf(["git", "none"] as const)),
  }, closed)),
);

type ListQuery = Static<typeof listQuery>;

const moment = (description: string) =>
  Type.Optional(Type.String({ pattern: "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d{1,3})?Z$", description }));

const filters = {
  state: Type.Optional(oneOf(["running", "ended"] as const)),
  outcome: Type.Optional(oneOf(["completed", "blocked", "error"] as const)),
  interrupted: Type.Optional(Type.Boolean({ description: "whether a client interrupted it" })),
  adapter: Type.Optional(adapterId),
  folder: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: "the last name of its folder" })),
  text: Type.Optional(
    Type.String({ maxLength: 512, description: "words that are in its id, prompt, agent, folder, task or labels" }),
  ),
  since: moment("RFC 3339, UTC: began then or later"),
  until: moment("RFC 3339, UTC: began before"),
  label: labelQuery,
  task_id: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
};

const countQuery = Type.Object(filters, closed);

const listQuery = Type.Object({
  ...filters,
  facts: Type.Optional(Type.Boolean({ description: "true: with what each does now, or has cost" })),
  before: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: "next of the page before" })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, description: "default 50" })),
}, closed);

const showQuery = Type.Object({
  output: Type.Optional(oneOf(["true", "false"] as const, "false: the result's output is left empty")),
  facts: Type.Optional(oneOf(["true", "false"] as const, "true: with what it does now, and its model")),
}, closed);

const answerBody = Type.Object({
  request_id: Type.String({ minLength: 1, maxLength: 256 }),
  choice: Type.Union([Type.String({ maxLength: 65_536 }), Type.Null()], {
    description: "one of the choices, or any text for a question without; null: no answer, which denies",
  }),
}, closed);

/** Routes to start, list, show, stop, answer and delete sessions. */
export const sessionRoutes: readonly ApiRoute[] = [
  route({
    id: "startSession",
    at: "POST /v1/sessions",
    summary: "start a session",
    scope: "run",
    heads: [
      { name: "Idempotency-Key", summary: "the same request with the same key is the same session" },
      { name: "traceparent", summary: "the client's span, as W3C Trace Context writes it" },
    ],
    body: startBodySchema,
    answers: {
      201: { summary: "it has started; Location is where it is", schema: sessionSummarySchema },
      200: { summary: "an earlier request with this key started it", schema: sessionSummarySchema },
    },
    async handle({ body, headers, sessions }) {
      const { adapter, require, artifacts, ...request } = body;
      const { idempotency_key: inBody } = request;
      const key = readKey(headers.get("idempotency-key"), { inBody, name: "idempotency_key" });
      const traceparent = readTraceparent(headers.get("traceparent"));
      const keyed = { ...omitUndefined({ traceparent }), ...request, ...omitUndefined({ idempotency_key: key }) };
      const { session, known } = await sessions.admit(keyed, { adapter, require, artifacts });
      const headersOut = { location: `/v1/sessions/${encodeURIComponent(session.id)}` };
      return json(await sessions.get(session.id), { status: known ? 200 : 201, headers: headersOut });
    },
  }),
  route({
    id: "listSessions",
    at: "GET /v1/sessions",
    summary: "list sessions, the newest first",
    scope: "own",
    query: listQuery,
    answers: ok(
      "a page; next is null on the last",
      Type.Object({
        sessions: Type.Array(sessionSummarySchema),
        next: Type.Union([Type.String(), Type.Null()]),
      }),
    ),
    handle: async ({ query, sessions }) => json(await sessions.page(queryOf(query))),
  }),
  // Before the route of one session, whose path it fits.
  route({
    id: "countSessions",
    at: "GET /v1/sessions/counts",
    summary: "count the sessions that match, by what a list can be narrowed to",
    scope: "own",
    query: countQuery,
    answers: ok("how many there are", sessionCountsSchema),
    handle: async ({ query, sessions }) => json(await sessions.count(queryOf(query))),
  }),
  route({
    id: "getSession",
    at: "GET /v1/sessions/{id}",
    summary: "show a session and, when it has ended, its result",
    scope: "own",
    query: showQuery,
    answers: ok("the session", sessionSchema),
    async handle({ params, query, sessions }) {
      const id = params["id"] ?? "";
      const facts = query.facts === "true";
      const summary = { ...await sessions.get(id, { facts }), ...await sessions.history(id) };
      if (summary.state === "running") return json({ ...summary, result: null });
      const { events: _, ...result } = await (await sessions.open(id)).result();
      return json({ ...summary, result: query.output === "false" ? { ...result, output: "" } : result });
    },
  }),
  route({
    id: "deleteSession",
    at: "DELETE /v1/sessions/{id}",
    summary: "forget the events of a session that has ended",
    scope: "run",
    answers: { 204: { summary: "they are forgotten" } },
    async handle({ params, sessions }) {
      await sessions.delete(params["id"] ?? "");
      return new Response(null, { status: 204 });
    },
  }),
  route({
    id: "interruptSession",
    at: "POST /v1/sessions/{id}/interrupt",
    summary: "stop a session gracefully",
    scope: "run",
    answers: {
      202: { summary: "it is being stopped; its events tell when it has ended", schema: sessionSummarySchema },
      200: { summary: "it had ended already", schema: sessionSummarySchema },
    },
    async handle({ params, sessions }, { writeLog }) {
      const id = params["id"] ?? "";
      const session = await sessions.control(id);
      const before = await sessions.get(id);
      if (before.state !== "running") return json(before);
      session.interrupt().catch(async (error: unknown) => {
        // It may have ended meanwhile, and its result may not be there any more.
        const now = await sessions.get(id).catch(() => null);
        if (now?.state !== "running") return;
        writeLog({ level: "error", message: `A session could not be stopped: ${String(error)}`, session_id: id });
      });
      return json(before, { status: 202 });
    },
  }),
  route({
    id: "answerRequest",
    at: "POST /v1/sessions/{id}/answers",
    summary: "answer a permission request or a question of the agent",
    scope: "run",
    body: answerBody,
    answers: ok("the answer was taken", Type.Object({ accepted: Type.Literal(true) })),
    async handle({ params, body: { request_id, choice }, sessions }) {
      const id = params["id"] ?? "";
      const session = await sessions.control(id);
      if (await session.answer(request_id, choice)) return json({ accepted: true });
      const open = (await sessions.get(id)).waiting.find((one) => one.request_id === request_id);
      throw new BulkheadError(
        "conflict",
        open === undefined
          ? `Cannot answer "${request_id}": it is closed, or was never asked.`
          : `Cannot answer "${request_id}": it does not offer that choice.`,
        {
          hint: open === undefined
            ? "The session's summary lists what waits for an answer."
            : `It offers: ${open.choices.join(", ")}.`,
          details: { request_id, ...(open === undefined ? {} : { choices: open.choices }) },
        },
      );
    },
  }),
];

/**
 * Returns the key of the header Idempotency-Key, or the one in the body.
 * @throws {BulkheadError} `invalid_request` for a malformed key, or two keys
 */
export function readKey(
  header: string | null,
  { inBody, name }: { inBody: string | undefined; name: string },
): string | undefined {
  if (header === null) return inBody;
  if (header === "" || header.length > 256) {
    throw new BulkheadError("invalid_request", "The header Idempotency-Key has no or more than 256 characters.");
  }
  if (inBody !== undefined && inBody !== header) {
    throw new BulkheadError("invalid_request", `The header Idempotency-Key and ${name} in the body differ.`);
  }
  return header;
}

function queryOf({ label = [], ...query }: ListQuery): SessionQuery {
  return { ...query, labels: label.length === 0 ? undefined : labelsOf(label) };
}
