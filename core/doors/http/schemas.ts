import { type TSchema, Type } from "@sinclair/typebox";
import { permissionsSchema } from "../../../plugin-sdk/permissions.ts";
import type { SessionHistory } from "../../../plugin-sdk/session-history.ts";
import type { SessionSummary } from "../../../plugin-sdk/session-summary.ts";
import { outcomeOf, type StopReason, stopReasons } from "../../../plugin-sdk/result.ts";
import { type ErrorCode, errorCodes } from "../../../plugin-sdk/errors.ts";
import { exactly, type SchemaOf } from "../../../plugin-sdk/schema.ts";

/** Creates a schema that accepts one of several texts. */
export function oneOf<T extends string>(values: readonly T[], description?: string): SchemaOf<T> {
  return Type.Unsafe<T>(Type.Union(values.map((value) => Type.Literal(value)), description ? { description } : {}));
}

const text = Type.String();
const maybe = (schema: TSchema) => Type.Union([schema, Type.Null()]);
const reasons = Object.values(stopReasons).flat() as StopReason[];

/** {@link SessionSummary}. */
export const sessionSummarySchema: SchemaOf<SessionSummary> = exactly<SessionSummary>()(Type.Object({
  session_id: text,
  state: oneOf(["running", "ended"] as const),
  adapter_id: Type.Union([text, Type.Null()]),
  workdir: text,
  title: text,
  task_id: Type.Union([text, Type.Null()]),
  labels: Type.Record(text, text),
  started_at: text,
  ended_at: Type.Union([text, Type.Null()]),
  outcome: Type.Union([oneOf(["completed", "blocked", "error"] as const), Type.Null()]),
  stop_reason: Type.Union([oneOf(reasons, [...new Set(reasons.map(outcomeOf))].join(", ")), Type.Null()]),
  last_seq: Type.Integer({ minimum: 0 }),
  waiting: Type.Array(Type.Object({
    request_id: text,
    type: oneOf(["permission_request", "question"] as const),
    text,
    choices: Type.Array(text),
    cut: Type.Optional(Type.Literal(true, { description: "shortened; the request's event has all of it" })),
  })),
}));

const time = Type.Union([text, Type.Null()]);

/** {@link SessionHistory}. */
const historySchema: SchemaOf<SessionHistory> = exactly<SessionHistory>()(Type.Object({
  grants: Type.Array(Type.Object({ attempt: Type.Integer(), adapter_id: text, permissions: permissionsSchema })),
  attempts: Type.Array(Type.Object({
    attempt: Type.Integer(),
    adapter_id: text,
    started_at: text,
    ended_at: time,
    error_code: Type.Union([oneOf(Object.keys(errorCodes) as ErrorCode[]), Type.Null()]),
  })),
  children: Type.Array(Type.Object({
    process_id: Type.Integer(),
    attempt: Type.Integer(),
    pid: Type.Integer(),
    identity: Type.Union([text, Type.Null()]),
    program: text,
    started_at: text,
    ended_at: time,
    exit_code: Type.Union([Type.Integer(), Type.Null()]),
    signal: Type.Union([text, Type.Null()]),
  })),
}));

/** A session with its summary and history, and with its result once it has ended. */
export const sessionSchema: TSchema = Type.Composite([
  Type.Object((sessionSummarySchema as unknown as ReturnType<typeof Type.Object>).properties),
  Type.Object((historySchema as unknown as ReturnType<typeof Type.Object>).properties),
  Type.Object({ result: maybe(Type.Object({}, { description: "SessionResult, without its events" })) }),
]);

/** Schema of one event of a session as clients see it. */
export const envelopeSchema: TSchema = Type.Object({
  v: Type.Literal(1),
  seq: Type.Integer({ minimum: 1 }),
  gseq: Type.Integer({ minimum: 1 }),
  ts: text,
  session_id: text,
  attempt: Type.Integer({ minimum: 0 }),
  adapter: Type.Object({ id: text, version: text }),
  source: oneOf(["agent", "host"] as const),
  synthetic: Type.Optional(Type.Literal(true)),
  event: Type.Object({ type: text }, { description: "An event of an adapter or of the host, told by its type" }),
});

/** A problem document (RFC 9457). */
export const problemSchema: TSchema = Type.Object({
  type: text,
  title: text,
  status: Type.Integer(),
  detail: text,
  code: oneOf(Object.keys(errorCodes)),
  hint: Type.Optional(text),
  details: Type.Optional(Type.Object({})),
});
