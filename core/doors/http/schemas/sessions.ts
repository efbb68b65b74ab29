import { type TSchema, Type } from "@sinclair/typebox";
import { propertiesOf } from "../../../ground/checks/properties-of.ts";
import type { SessionHistory } from "../../../../plugin-sdk/session-history.ts";
import type { SessionCounts } from "../../../../plugin-sdk/queries.ts";
import type { SessionSummary } from "../../../../plugin-sdk/session-summary.ts";
import { type ErrorCode, errorCodes } from "../../../../plugin-sdk/errors.ts";
import { exactly, type SchemaOf } from "../../../../plugin-sdk/schema.ts";
import { listedFactsSchema } from "../../../sessions/session/schemas/listed-facts.ts";
import { count, maybe, named, oneOf, text } from "../../../sessions/session/schemas/named.ts";
import {
  outcomeSchema,
  permissionsSchema,
  resultSchema,
  stopReasonSchema,
} from "../../../sessions/session/schemas/results.ts";

const waiting = Type.Object({
  request_id: text,
  type: oneOf(["permission_request", "question"] as const),
  text,
  choices: Type.Array(text),
  asked_at: Type.Optional(text),
  answer_by: Type.Optional(text),
  answer_cut_from_ms: Type.Optional(count),
  cut: Type.Optional(Type.Literal(true, { description: "shortened; the request's event has all of it" })),
});

/** {@link SessionSummary}. */
export const sessionSummarySchema: SchemaOf<SessionSummary> = named(
  "SessionSummary",
  exactly<SessionSummary>()(Type.Object({
    session_id: text,
    state: oneOf(["running", "ended"] as const),
    adapter_id: maybe(text),
    workdir: text,
    title: text,
    task_id: maybe(text),
    labels: Type.Record(Type.String(), text),
    started_at: text,
    ended_at: maybe(text),
    outcome: maybe(outcomeSchema),
    stop_reason: maybe(stopReasonSchema),
    last_seq: count,
    waiting: Type.Array(waiting),
    conversation_id: text,
    turn: Type.Optional(Type.Object({ number: count, state: oneOf(["working", "kept", "waiting"] as const) })),
    pending: Type.Optional(count),
    facts: Type.Optional(listedFactsSchema),
  })),
);

const names = Type.Array(Type.Object({ name: text, count }));

/** {@link SessionCounts}. */
export const sessionCountsSchema: SchemaOf<SessionCounts> = named(
  "SessionCounts",
  exactly<SessionCounts>()(Type.Object({
    total: count,
    states: Type.Object({ running: count, completed: count, blocked: count, error: count, interrupted: count }),
    adapters: names,
    folders: names,
    labels: names,
  })),
);

const historySchema: SchemaOf<SessionHistory> = exactly<SessionHistory>()(Type.Object({
  grants: Type.Array(Type.Object({ attempt: Type.Integer(), adapter_id: text, permissions: permissionsSchema })),
  attempts: Type.Array(Type.Object({
    attempt: Type.Integer(),
    adapter_id: text,
    started_at: text,
    ended_at: maybe(text),
    error_code: maybe(oneOf(Object.keys(errorCodes) as ErrorCode[])),
  })),
  children: Type.Array(Type.Object({
    process_id: Type.Integer(),
    attempt: Type.Integer(),
    pid: Type.Integer(),
    identity: maybe(text),
    program: text,
    started_at: text,
    ended_at: maybe(text),
    exit_code: maybe(Type.Integer()),
    signal: maybe(text),
  })),
}));

/** A session with its summary and history, and with its result, but for the events, once it has ended. */
export const sessionSchema: TSchema = named(
  "Session",
  Type.Composite([
    Type.Object(propertiesOf(sessionSummarySchema)),
    Type.Object(propertiesOf(historySchema)),
    Type.Object({ result: maybe(resultSchema) }),
  ]),
);

/** A problem document (RFC 9457). */
export const problemSchema: TSchema = named(
  "Problem",
  Type.Object({
    type: text,
    title: text,
    status: Type.Integer(),
    detail: text,
    code: oneOf(Object.keys(errorCodes)),
    hint: Type.Optional(text),
    details: Type.Optional(Type.Object({}, { additionalProperties: true })),
  }),
);
