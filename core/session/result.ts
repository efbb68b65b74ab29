import {
  outcomeOf,
  type PermissionUses,
  type Provenance,
  type SessionResult,
  type UsageReport,
} from "../../plugin-sdk/result.ts";
import type { ArtifactList } from "../git/artifacts.ts";
import { sha256Hex } from "../runtime/hash.ts";
import { isAbsolute, relative, sep } from "../runtime/paths.ts";
import { runtimeVersion } from "../runtime/platform.ts";
import type { EventRules } from "./event-rules.ts";
import { recordedRequest } from "./recorded-request.ts";
import type { SessionSetup } from "./session-setup.ts";
import type { Verdict } from "./verdict.ts";

/** What is known when a session has ended. */
export interface ResultParts {
  verdict: Verdict;
  rules: EventRules;
  usage: UsageReport;
  changed: ArtifactList;
  gitBase: string | null;
  packageSha256: string | null;
  toolVersion: string | null;
  uses: PermissionUses;
  startedAt: string;
  deadlines: { totalMs: number; idleMs: number };
  /** The runtime of the host that ran it; default: this one. */
  runtime?: string;
}

/** Whose result it is. */
export interface ResultSubject
  extends Pick<SessionSetup, "sessionId" | "request" | "workdir" | "effective" | "hostVersion"> {
  plugin: { id: string; manifest: { version: string } };
}

/** The result of a session. */
export function buildResult(setup: ResultSubject, parts: ResultParts): SessionResult {
  const { request, plugin, sessionId } = setup;
  const { verdict, rules, usage, changed, deadlines } = parts;
  const outcome = outcomeOf(verdict.stop_reason);
  const completed = rules.lastWord?.type === "completed" ? rules.lastWord : null;
  const failed = verdict.error ? { error: verdict.error } : {};
  return {
    session_id: sessionId,
    task_id: request.task_id ?? null,
    outcome,
    stop_reason: verdict.stop_reason,
    output: completed?.output ?? rules.text,
    usage,
    artifacts: changed.artifacts,
    ...(changed.artifacts === null ? { artifacts_reason: changed.reason } : {}),
    claimed_only: claimedOnly(rules.claimedPaths, { changed, workdir: setup.workdir }),
    confidence: outcome === "error" ? 0 : completed?.confidence ?? null,
    metadata: { tool_version: parts.toolVersion, permissions: structuredClone(parts.uses) },
    provenance: provenance(setup, parts),
    requested: recordedRequest(request),
    effective: {
      permissions: setup.effective,
      model: usage.model ?? request.model ?? null,
      timeout_ms: deadlines.totalMs,
      idle_timeout_ms: deadlines.idleMs,
    },
    iterations: request.iteration ?? 1,
    attempts: [{
      attempt: 1,
      adapter_id: plugin.id,
      started_at: parts.startedAt,
      duration_ms: usage.duration_ms,
      ...failed,
    }],
    ...failed,
  };
}

function provenance(setup: ResultSubject, parts: ResultParts): Provenance {
  const { plugin, request } = setup;
  return {
    adapter_id: plugin.id,
    adapter_version: plugin.manifest.version,
    package_sha256: parts.packageSha256,
    grants: setup.effective,
    host_version: setup.hostVersion,
    runtime: parts.runtime ?? runtimeVersion,
    model: parts.usage.model ?? request.model ?? null,
    prompt_sha256: sha256Hex(request.prompt),
    git_base: parts.gitBase,
    git_head: parts.changed.head,
  };
}

/** Paths the agent says it changed and git does not show; as relative paths where they lie in the folder. */
function claimedOnly(claimed: string[], { changed, workdir }: { changed: ArtifactList; workdir: string }): string[] {
  if (changed.artifacts === null) return [];
  const shown = new Set(changed.artifacts.flatMap(({ path, from }) => (from === undefined ? [path] : [path, from])));
  const names = claimed.map((path) => (isAbsolute(path) ? relative(workdir, path) : path).split(sep).join("/"));
  return [...new Set(names)].filter((path) => !shown.has(path)).sort();
}
