import { Type } from "@sinclair/typebox";
import type { ReplayReport, WireDrift, WireRecordReport } from "../../../../plugin-sdk/black-box.ts";
import type { GitChange } from "../../../../plugin-sdk/git-changes.ts";
import { propertiesOf } from "../../../ground/checks/properties-of.ts";
import { type ErrorCode, errorCodes, type ErrorData } from "../../../../plugin-sdk/errors.ts";
import { type AdapterEvent, adapterEventSchema } from "../../../../plugin-sdk/events.ts";
import type { HeldChange, InstallScripts } from "../../../../plugin-sdk/held.ts";
import { permissionsSchema as anyPermissions } from "../../../../plugin-sdk/permissions.ts";
import { type Approval, type Budget, sessionRequestSchema, turnTermsFields } from "../../../../plugin-sdk/request.ts";
import {
  type Artifact,
  type AttemptReport,
  type EffectiveSettings,
  outcomeOf,
  type PermissionUses,
  type Provenance,
  type SessionResult,
  type StopReason,
  stopReasons,
  type Substitution,
  type TurnReport,
  type UsageReport,
  type WireUsage,
} from "../../../../plugin-sdk/result.ts";
import { exactly, type SchemaOf } from "../../../../plugin-sdk/schema.ts";
import { heldSchema as anyHeld, installScriptsSchema as anyInstallScripts } from "../../../records/gate/held-schema.ts";
import { artifactSchema as anyArtifact } from "../../../records/git/artifact-schema.ts";
import { count, maybe, named, oneOf, text } from "./named.ts";

const names = Type.Array(text);
const amount: SchemaOf<number> = Type.Number();
const anyMap = Type.Unsafe<Record<string, unknown>>(Type.Object({}, { additionalProperties: true }));
const reasons = Object.values(stopReasons).flat() as StopReason[];
const requestFields = propertiesOf(sessionRequestSchema);

/** {@link StopReason}. */
export const stopReasonSchema: SchemaOf<StopReason> = oneOf(reasons, [...new Set(reasons.map(outcomeOf))].join(", "));

/** `SessionResult["outcome"]`. */
export const outcomeSchema: SchemaOf<SessionResult["outcome"]> = oneOf(["completed", "blocked", "error"] as const);

/** `Permissions`, as a component. */
export const permissionsSchema: typeof anyPermissions = named("Permissions", anyPermissions);

/** `SessionRequest`, as a component. */
export const requestSchema: typeof sessionRequestSchema = named("SessionRequest", sessionRequestSchema);

/** Type of an access mode. */
export const accessModeTypeSchema: SchemaOf<"subscription" | "api" | "local"> = oneOf(
  ["subscription", "api", "local"] as const,
);

/** {@link ErrorData}. */
export const errorSchema: SchemaOf<ErrorData> = named(
  "Error",
  exactly<ErrorData>()(Type.Object({
    code: oneOf(Object.keys(errorCodes) as ErrorCode[]),
    message: text,
    hint: Type.Optional(text),
    details: Type.Optional(anyMap),
  })),
);

/** {@link GitChange}. */
export const gitChangeSchema: SchemaOf<GitChange> = named(
  "GitChange",
  exactly<GitChange>()(Type.Object({
    name: text,
    outcome: oneOf(["moved", "kept", "held", "left"] as const),
    id: Type.Optional(text),
    kept_as: Type.Optional(text),
    reason: Type.Optional(text),
    command: Type.Optional(text),
    submodule: Type.Optional(text),
  })),
);

/** {@link Artifact}. */
export const artifactSchema: SchemaOf<Artifact> = named("Artifact", anyArtifact);

/** {@link HeldChange}. */
export const heldSchema: SchemaOf<HeldChange> = named("HeldChange", anyHeld);

/** {@link InstallScripts}. */
export const installScriptsSchema: SchemaOf<InstallScripts> = named("InstallScripts", anyInstallScripts);

/** {@link UsageReport}. */
export const usageSchema: SchemaOf<UsageReport> = named(
  "Usage",
  exactly<UsageReport>()(Type.Object({
    tokens_in: maybe(count),
    tokens_out: maybe(count),
    tokens_cached: maybe(count),
    cost: maybe(amount),
    currency: maybe(text),
    model: maybe(text),
    duration_ms: count,
    scope: maybe(oneOf(["session", "turns"] as const)),
    partial: Type.Optional(Type.Literal(true)),
    requests: Type.Optional(count),
    tokens_used: Type.Optional(count),
    wire: Type.Optional(
      exactly<WireUsage>()(Type.Object({
        calls: count,
        unknown: count,
        tokens_in: count,
        tokens_out: count,
        tokens_cached: count,
        cost: maybe(amount),
        currency: maybe(text),
        reported_tokens: Type.Optional(count),
        counted: Type.Optional(Type.Object({ tokens: count, cost: amount })),
      })),
    ),
    basis: oneOf(["wire", "reported", "estimated", "unknown"] as const),
  })),
);

const provenance = named(
  "Provenance",
  exactly<Provenance>()(Type.Object({
    adapter_id: text,
    adapter_version: text,
    package_sha256: maybe(text),
    grants: permissionsSchema,
    host_version: text,
    runtime: text,
    model: maybe(text),
    prompt_sha256: text,
    sent_prompt_sha256: maybe(text),
    git_base: maybe(text),
    git_head: maybe(text),
  })),
);

const attempt = named(
  "Attempt",
  exactly<AttemptReport>()(Type.Object({
    attempt: count,
    adapter_id: text,
    started_at: text,
    duration_ms: count,
    waited_ms: Type.Optional(count),
    error: Type.Optional(errorSchema),
  })),
);

/** {@link EffectiveSettings}. */
export const effectiveSchema: SchemaOf<EffectiveSettings> = named(
  "EffectiveSettings",
  exactly<EffectiveSettings>()(Type.Object({
    permissions: permissionsSchema,
    model: maybe(text),
    timeout_ms: count,
    idle_timeout_ms: count,
    answer_timeout_ms: Type.Optional(count),
    allowed_tools: maybe<string[]>(names),
    max_turns: maybe(count),
    approval: Type.Unsafe<Approval>(requestFields["approval"]!),
    budget: maybe<Budget>(Type.Unsafe<Budget>(requestFields["budget"]!)),
    budget_basis: Type.Optional(oneOf(["wire", "reported"] as const)),
    workspace: oneOf(["inplace", "worktree"] as const),
    access_mode: maybe(accessModeTypeSchema),
    output_schema: Type.Optional(oneOf(["enforced", "asked"] as const)),
    ...turnTermsFields,
    unenforced: names,
  })),
);

/** {@link Substitution}. */
export const substitutionSchema: SchemaOf<Substitution> = exactly<Substitution>()(
  Type.Object({ from: text, to: text, reason: text }),
);

const uses = Type.Object({ allowed: count, denied: count });
const permissionUses = exactly<PermissionUses>()(Type.Object({
  allowed: count,
  denied: count,
  by: Type.Record(Type.String(), uses),
  hosts: Type.Optional(Type.Record(Type.String(), uses)),
}));

const turnReport = exactly<TurnReport>()(Type.Object({
  turn: count,
  outcome: outcomeSchema,
  stop_reason: stopReasonSchema,
  output: text,
  usage: usageSchema,
  error: Type.Optional(errorSchema),
}));

const recorded = exactly<WireRecordReport>()(
  Type.Object({ calls: count, bytes: count, incomplete: Type.Optional(text) }),
);

const replay = exactly<ReplayReport>()(Type.Object({
  of: text,
  recorded: count,
  made: count,
  served: count,
  left: count,
  drift: Type.Optional(
    exactly<WireDrift>()(Type.Object({
      call: count,
      line: text,
      recorded_call: maybe(count),
      place: maybe(text),
      difference: text,
    })),
  ),
  tree: oneOf(["same", "different", "unknown"] as const),
}));

/** {@link SessionResult}. */
export const resultSchema: SchemaOf<SessionResult> = named(
  "SessionResult",
  exactly<SessionResult>()(Type.Object({
    session_id: text,
    task_id: maybe(text),
    outcome: outcomeSchema,
    stop_reason: stopReasonSchema,
    output: text,
    structured_output: Type.Optional(Type.Unknown()),
    events: Type.Optional(Type.Array(Type.Unsafe<AdapterEvent>(adapterEventSchema))),
    usage: usageSchema,
    artifacts: maybe<Artifact[]>(Type.Array(artifactSchema)),
    artifacts_reason: Type.Optional(text),
    artifacts_omitted: Type.Optional(count),
    checkpoint: Type.Optional(maybe(text)),
    checkpoint_reason: Type.Optional(text),
    artifacts_shared_with: Type.Optional(names),
    git_changes: Type.Optional(Type.Array(gitChangeSchema)),
    held: Type.Optional(Type.Array(heldSchema)),
    install_scripts: Type.Optional(Type.Array(installScriptsSchema)),
    claimed_only: names,
    confidence: maybe(amount),
    metadata: Type.Unsafe<SessionResult["metadata"]>(
      Type.Object({ tool_version: maybe(text), permissions: permissionUses }, { additionalProperties: true }),
    ),
    provenance,
    requested: requestSchema,
    effective: effectiveSchema,
    iterations: count,
    attempts: Type.Array(attempt),
    turns: Type.Optional(Type.Array(turnReport)),
    substitutions: Type.Array(substitutionSchema),
    resumed_from: Type.Optional(text),
    resumed_as: Type.Optional(text),
    recorded: Type.Optional(recorded),
    replay: Type.Optional(replay),
    error: Type.Optional(errorSchema),
  })),
);
