import { type TSchema, Type } from "@sinclair/typebox";
import type { HostEvent } from "../../../../plugin-sdk/envelope.ts";
import { contentSchema, deliveries } from "../../../../plugin-sdk/messages.ts";
import { turnTermsFields } from "../../../../plugin-sdk/request.ts";
import { exactly, type SchemaOf } from "../../../../plugin-sdk/schema.ts";
import { count, maybe, oneOf, text } from "./named.ts";
import {
  accessModeTypeSchema,
  artifactSchema,
  effectiveSchema,
  errorSchema,
  gitChangeSchema,
  heldSchema,
  installScriptsSchema,
  outcomeSchema,
  permissionsSchema,
  requestSchema,
  resultSchema,
  stopReasonSchema,
  substitutionSchema,
  usageSchema,
} from "./results.ts";

type HostEventType = HostEvent["type"];
type Fields<T extends HostEventType> = Omit<Extract<HostEvent, { type: T }>, "type">;

/** Ties a schema to the fields of one event of the host. */
function fields<T extends HostEventType>() {
  return exactly<Fields<T>>();
}

const memory = oneOf(["agent", "briefing", "none"] as const);

const fieldsByType: { readonly [T in HostEventType]: SchemaOf<Fields<T>> } = {
  session_started: fields<"session_started">()(Type.Object({
    adapter_id: text,
    workdir: text,
    task_id: maybe(text),
    labels: Type.Record(Type.String(), text),
    requested: requestSchema,
    effective: effectiveSchema,
    candidates: Type.Array(text),
    passed_over: Type.Array(Type.Object({ adapter_id: text, reason: text })),
    resumed_from: Type.Optional(text),
    times_resumed: Type.Optional(count),
    follows: Type.Optional(Type.Object({
      conversation_id: text,
      session_id: text,
      turn: count,
      why: oneOf(["message", "restart", "machine_lost", "rewind", "fork", "agent", "terms"] as const),
      memory,
      message: Type.Optional(Type.Object({ message_id: text, by: Type.Object({ client: text }) })),
      budget: Type.Optional(Type.Object({ of: text, cost: Type.Number(), tokens: count })),
    })),
    copied: Type.Optional(Type.Object({ files: count, bytes: count })),
  })),
  queued: fields<"queued">()(Type.Object({
    position: count,
    retry_in_ms: Type.Optional(count),
    reason: Type.Optional(text),
  })),
  attempt_started: fields<"attempt_started">()(Type.Object({
    attempt: count,
    adapter_id: text,
    access_mode: Type.Optional(accessModeTypeSchema),
    permissions: Type.Optional(permissionsSchema),
  })),
  attempt_failed: fields<"attempt_failed">()(Type.Object({
    attempt: count,
    adapter_id: text,
    error: errorSchema,
    retry_in_ms: maybe(count),
  })),
  fallback: substitutionSchema,
  process_spawned: fields<"process_spawned">()(Type.Object({
    process_id: count,
    pid: count,
    identity: Type.Optional(text),
    argv: Type.Array(text),
  })),
  process_exited: fields<"process_exited">()(Type.Object({
    process_id: count,
    pid: count,
    exit_code: maybe(Type.Integer()),
    signal: maybe(text),
    duration_ms: count,
  })),
  permission_resolved: fields<"permission_resolved">()(Type.Object({
    request_id: text,
    choice: maybe(text),
    by: oneOf(["client", "policy", "deadline", "agent", "session_end"] as const),
  })),
  capability: fields<"capability">()(Type.Object({
    permission: oneOf(["run", "read", "write", "net", "env", "secrets", "mcp_servers", "kv", "log"] as const),
    target: text,
    decision: oneOf(["allowed", "denied"] as const),
    grant_command: Type.Optional(text),
    grantable: Type.Optional(Type.Literal(false)),
    needed: Type.Optional(Type.Literal(false)),
    manifest_entry: Type.Optional(text),
    grant_file: Type.Optional(text),
    grant_line: Type.Optional(count),
    reason: Type.Optional(text),
  })),
  worker: fields<"worker">()(Type.Object({
    state: oneOf(["crashed", "killed", "out_of_memory"] as const),
    message: text,
  })),
  git: fields<"git">()(Type.Object({
    changes: Type.Array(gitChangeSchema),
    omitted: Type.Optional(count),
  })),
  artifacts: fields<"artifacts">()(Type.Object({
    artifacts: maybe(Type.Array(artifactSchema)),
    reason: Type.Optional(text),
    omitted: Type.Optional(count),
    shared_with: Type.Optional(Type.Array(text)),
  })),
  held: fields<"held">()(Type.Object({
    held: Type.Array(heldSchema),
    install_scripts: Type.Array(installScriptsSchema),
  })),
  message_accepted: fields<"message_accepted">()(Type.Object({
    message_id: text,
    delivery: oneOf(deliveries),
    content: contentSchema,
    by: Type.Object({ client: text }),
    output_schema: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    traceparent: Type.Optional(text),
    with: Type.Optional(Type.Object(turnTermsFields)),
  })),
  message_changed: fields<"message_changed">()(Type.Object({ message_id: text, content: contentSchema })),
  message_sent: fields<"message_sent">()(Type.Object({ message_id: text, turn: count })),
  message_delivered: fields<"message_delivered">()(Type.Object({
    message_id: text,
    turn: count,
    how: oneOf(["new_turn", "injected"] as const),
  })),
  message_dropped: fields<"message_dropped">()(Type.Object({
    message_id: text,
    reason: oneOf(["withdrawn", "unsure", "turn_failed", "session_ended", "host_restarted", "moved"] as const),
    to: Type.Optional(text),
  })),
  turn_started: fields<"turn_started">()(Type.Object({
    turn: count,
    after: count,
    message_ids: Type.Array(text),
    by: oneOf(["client", "agent"] as const),
    with: Type.Optional(Type.Object(turnTermsFields)),
    memory,
    prompt_sha256: text,
    checkpoint: maybe(text),
  })),
  turn_ended: fields<"turn_ended">()(Type.Object({
    turn: count,
    outcome: outcomeSchema,
    stop_reason: stopReasonSchema,
    output: text,
    structured_output: Type.Optional(Type.Unknown()),
    usage: usageSchema,
    artifacts: maybe(Type.Array(artifactSchema)),
    artifacts_reason: Type.Optional(text),
    checkpoint: maybe(text),
    checkpoint_reason: Type.Optional(text),
    agent_ref: Type.Optional(text),
    error: Type.Optional(errorSchema),
  })),
  model_call: fields<"model_call">()(Type.Object({
    model: maybe(text),
    status: maybe(count),
    tokens_in: maybe(count),
    tokens_out: maybe(count),
    tokens_cached: maybe(count),
    cost: maybe(Type.Number({ minimum: 0 })),
    currency: maybe(text),
    partial: Type.Optional(Type.Literal(true)),
    counted: Type.Optional(Type.Object({ tokens: count, cost: Type.Number({ minimum: 0 }) })),
    refused: Type.Optional(oneOf(["budget_cost", "budget_tokens"] as const)),
    budget: Type.Optional(Type.String()),
    windows: Type.Optional(Type.Array(Type.Object({
      name: text,
      limit: maybe(count),
      remaining: maybe(count),
      reset_at: maybe(text),
    }))),
  })),
  rewound: fields<"rewound">()(Type.Object({
    to: count,
    undo: Type.Boolean(),
    at: text,
    before: text,
    after: text,
    files: count,
    left: count,
  })),
  gap: fields<"gap">()(Type.Object({
    from_seq: count,
    to_seq: count,
    damaged: Type.Optional(Type.Literal(true)),
  })),
  session_ended: fields<"session_ended">()(Type.Object({ result: resultSchema })),
};

const schemas: Record<string, TSchema> = Object.fromEntries(
  Object.entries<TSchema>(fieldsByType).map(([type, { properties }]) => [
    type,
    Type.Object({ type: Type.Literal(type), ...properties }),
  ]),
);

/** Schemas of the events of the host, by type. */
export const hostEventSchemas = schemas as { readonly [T in HostEventType]: SchemaOf<Extract<HostEvent, { type: T }>> };
