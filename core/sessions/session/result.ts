import type { TurnCheckpoint } from "./session-checkpoints.ts";
import type { GitEvent, SessionStartedEvent } from "../../../plugin-sdk/envelope.ts";
import { omitEmpty, omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import {
  type AttemptReport,
  type EffectiveSettings,
  outcomeOf,
  type PermissionUses,
  type Provenance,
  type SessionResult,
  type Substitution,
  type TurnReport,
  type UsageReport,
} from "../../../plugin-sdk/result.ts";
import { type ArtifactList, omittedCount } from "../../records/git/artifacts.ts";
import { sha256Hex } from "../../ground/platform/files/hash.ts";
import { runtimeVersion } from "../../ground/platform/engine/platform.ts";
import type { EventRules } from "./event-rules.ts";
import type { Admitted } from "./admitted.ts";
import type { Left } from "./session-changes.ts";
import type { Verdict } from "./verdict.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";

/** Returns the first event of a session. */
export function startedEvent(
  { request, place: { workdir, copied }, candidates, passedOver, resumed, follows }: Admitted,
  effective: EffectiveSettings,
): SessionStartedEvent {
  return {
    type: "session_started",
    adapter_id: candidates[0].plugin.id,
    workdir,
    task_id: request.task_id ?? null,
    labels: request.labels ?? {},
    requested: recordedRequest(request),
    effective,
    candidates: [...new Set(candidates.map(({ plugin }) => plugin.id))],
    passed_over: passedOver,
    ...omitUndefined({ resumed_from: resumed?.from, times_resumed: resumed?.times, copied: copied ?? undefined }),
    ...omitUndefined({ follows: follows ?? undefined }),
  };
}

/** Facts known at the end of a session. */
interface ResultOptions {
  verdict: Verdict;
  rules: EventRules;
  /** Data of the agent that fits the output schema, if there is one. */
  structured?: unknown;
  usage: UsageReport;
  changed: ArtifactList;
  /** Changes that wait for a person's word, or are named to one; default: none. */
  left?: Left;
  kept?: TurnCheckpoint | null;
  /** Paths the agent says it changed, which git does not show. */
  claimedOnly: readonly string[];
  /** Changes of the agent with git; null without any. */
  git: GitEvent | null;
  /** Sessions whose changes may be among the artifacts. */
  sharedWith?: readonly string[];
  gitBase: string | null;
  packageSha256: string | null;
  toolVersion: string | null;
  uses: PermissionUses;
  attempts: AttemptReport[];
  /** Default: none. Told where there are several. */
  turns?: readonly TurnReport[];
  substitutions: Substitution[];
  /** The runtime of the host that ran the session; default: this one. */
  runtime?: string;
  /** The session that continues this one's agent session. */
  resumedAs?: string | null;
  /** Calls that were recorded, or replayed. */
  calls?: Pick<SessionResult, "recorded" | "replay"> | undefined;
}

interface ResultSubject extends Pick<Admitted, "sessionId" | "request" | "resumed"> {
  /** The adapter of the last attempt. */
  plugin: { id: string; manifest: { version: string } };
  effective: EffectiveSettings;
  hostVersion: string;
  /** The prompt as the adapter got it; null when unknown. */
  sentPrompt: string | null;
}

/** Builds the result of a session. */
export function buildResult(session: ResultSubject, parts: ResultOptions): SessionResult {
  const { request, sessionId } = session;
  const { verdict, rules, usage, changed } = parts;
  const outcome = outcomeOf(verdict.stop_reason);
  const completed = rules.lastWord?.type === "completed" ? rules.lastWord : null;
  const failed = verdict.error ? { error: verdict.error } : {};
  return {
    session_id: sessionId,
    task_id: request.task_id ?? null,
    outcome,
    stop_reason: verdict.stop_reason,
    output: completed?.output ?? rules.text,
    ...omitUndefined({ structured_output: outcome === "error" ? undefined : parts.structured }),
    // No model was paid for a replay, whatever its agent reckons.
    usage: parts.calls?.replay === undefined ? usage : { ...usage, cost: 0, currency: null },
    artifacts: changed.artifacts,
    ...(changed.artifacts === null ? { artifacts_reason: changed.reason } : {}),
    ...(changed.artifacts === null ? {} : omittedCount(changed.others)),
    ...parts.kept,
    ...omitEmpty({ git_changes: [...parts.git?.changes ?? []], artifacts_shared_with: [...parts.sharedWith ?? []] }),
    ...omitEmpty({ held: parts.left?.held ?? [], install_scripts: parts.left?.install_scripts ?? [] }),
    claimed_only: [...parts.claimedOnly],
    confidence: outcome === "error" ? 0 : completed?.confidence ?? null,
    metadata: { ...completed?.metadata, tool_version: parts.toolVersion, permissions: structuredClone(parts.uses) },
    provenance: provenance(session, parts),
    requested: recordedRequest(request),
    effective: { ...session.effective, model: usage.model ?? session.effective.model },
    iterations: request.iteration ?? 1,
    attempts: parts.attempts,
    ...((parts.turns?.length ?? 0) > 1 ? { turns: [...parts.turns!] } : {}),
    substitutions: parts.substitutions,
    ...omitUndefined({ resumed_from: session.resumed?.from, resumed_as: parts.resumedAs ?? undefined }),
    ...parts.calls,
    ...failed,
  };
}

function provenance(session: ResultSubject, parts: ResultOptions): Provenance {
  const { plugin, request } = session;
  return {
    adapter_id: plugin.id,
    adapter_version: plugin.manifest.version,
    package_sha256: parts.packageSha256,
    grants: session.effective.permissions,
    host_version: session.hostVersion,
    runtime: parts.runtime ?? runtimeVersion,
    model: parts.usage.model ?? session.effective.model,
    prompt_sha256: sha256Hex(request.prompt),
    sent_prompt_sha256: session.sentPrompt === null ? null : sha256Hex(session.sentPrompt),
    git_base: parts.gitBase,
    git_head: parts.changed.head,
  };
}

/** Redacts the environment's values in a request: they may be credentials, and the journal outlives the session. */
function recordedRequest(request: SessionRequest): SessionRequest {
  if (request.env === undefined) return request;
  return { ...request, env: Object.fromEntries(Object.keys(request.env).map((name) => [name, "[redacted]"])) };
}
