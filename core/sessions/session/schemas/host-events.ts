import { Type } from "@sinclair/typebox";
import type { HostEvent } from "../../../../plugin-sdk/envelope.ts";
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
  permissionsSchema,
  requestSchema,
  resultSchema,
} from "./results.ts";

type HostEventSchemas = { readonly [T in HostEvent["type"]]: SchemaOf<Extract<HostEvent, { type: T }>> };

/** Creates the schema of one event of the host. */
function hostEvent<T extends HostEvent["type"]>() {
  return exactly<Extract<HostEvent, { type: T }>>();
}

/** Schemas of the events of the host, by type. */
export const hostEventSchemas: HostEventSchemas = {
  session_started: hostEvent<"session_started">()(Type.Object({
    type: Type.Literal("session_started"),
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
    copied: Type.Optional(Type.Object({ files: count, bytes: count })),
  })),
  queued: hostEvent<"queued">()(Type.Object({
    type: Type.Literal("queued"),
    position: count,
    retry_in_ms: Type.Optional(count),
    reason: Type.Optional(text),
  })),
  attempt_started: hostEvent<"attempt_started">()(Type.Object({
    type: Type.Literal("attempt_started"),
    attempt: count,
    adapter_id: text,
    access_mode: Type.Optional(accessModeTypeSchema),
    permissions: Type.Optional(permissionsSchema),
  })),
  attempt_failed: hostEvent<"attempt_failed">()(Type.Object({
    type: Type.Literal("attempt_failed"),
    attempt: count,
    adapter_id: text,
    error: errorSchema,
    retry_in_ms: maybe(count),
  })),
  fallback: hostEvent<"fallback">()(Type.Object({
    type: Type.Literal("fallback"),
    from: text,
    to: text,
    reason: text,
  })),
  process_spawned: hostEvent<"process_spawned">()(Type.Object({
    type: Type.Literal("process_spawned"),
    process_id: count,
    pid: count,
    identity: Type.Optional(text),
    argv: Type.Array(text),
  })),
  process_exited: hostEvent<"process_exited">()(Type.Object({
    type: Type.Literal("process_exited"),
    process_id: count,
    pid: count,
    exit_code: maybe(Type.Integer()),
    signal: maybe(text),
    duration_ms: count,
  })),
  permission_resolved: hostEvent<"permission_resolved">()(Type.Object({
    type: Type.Literal("permission_resolved"),
    request_id: text,
    choice: maybe(text),
    by: oneOf(["client", "policy", "deadline", "session_end"] as const),
  })),
  capability: hostEvent<"capability">()(Type.Object({
    type: Type.Literal("capability"),
    permission: oneOf(["run", "read", "write", "net", "env", "secrets", "mcp_servers", "kv", "log"] as const),
    target: text,
    decision: oneOf(["allowed", "denied"] as const),
    grant_command: Type.Optional(text),
    grantable: Type.Optional(Type.Literal(false)),
    manifest_entry: Type.Optional(text),
    grant_file: Type.Optional(text),
    grant_line: Type.Optional(count),
    reason: Type.Optional(text),
  })),
  worker: hostEvent<"worker">()(Type.Object({
    type: Type.Literal("worker"),
    state: oneOf(["crashed", "killed", "out_of_memory"] as const),
    message: text,
  })),
  git: hostEvent<"git">()(Type.Object({
    type: Type.Literal("git"),
    changes: Type.Array(gitChangeSchema),
    omitted: Type.Optional(count),
  })),
  artifacts: hostEvent<"artifacts">()(Type.Object({
    type: Type.Literal("artifacts"),
    artifacts: maybe(Type.Array(artifactSchema)),
    reason: Type.Optional(text),
    omitted: Type.Optional(count),
    shared_with: Type.Optional(Type.Array(text)),
  })),
  held: hostEvent<"held">()(Type.Object({
    type: Type.Literal("held"),
    held: Type.Array(heldSchema),
    install_scripts: Type.Array(installScriptsSchema),
  })),
  gap: hostEvent<"gap">()(Type.Object({
    type: Type.Literal("gap"),
    from_seq: count,
    to_seq: count,
    damaged: Type.Optional(Type.Literal(true)),
  })),
  session_ended: hostEvent<"session_ended">()(
    Type.Object({ type: Type.Literal("session_ended"), result: resultSchema }),
  ),
};
