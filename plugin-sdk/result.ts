import type { ErrorData } from "./errors.ts";
import type { AdapterEvent } from "./events.ts";
import type { Permissions } from "./permissions.ts";
import type { AccessMode } from "./access-modes.ts";
import type { Approval, Budget, SessionRequest } from "./request.ts";

/** How a session ended, coarsely. */
export type Outcome = "completed" | "blocked" | "error";

/** Every stop reason, under the outcome it belongs to. */
export const stopReasons = {
  completed: ["end_turn", "loop_complete"],
  blocked: ["permission_deadline", "question_deadline", "refused"],
  error: [
    "interrupted",
    "timeout",
    "idle_timeout",
    "budget_cost",
    "budget_tokens",
    "budget_turns",
    "budget_tool_calls",
    "rate_limit",
    "unavailable",
    "crash",
    "host_restarted",
    "fatal",
  ],
} as const;

/** How a session ended, exactly. */
export type StopReason = (typeof stopReasons)[Outcome][number];

/** The outcome a stop reason belongs to. */
export function outcomeOf(reason: StopReason): Outcome {
  for (const outcome of Object.keys(stopReasons) as Outcome[]) {
    if ((stopReasons[outcome] as readonly string[]).includes(reason)) return outcome;
  }
  throw new TypeError(`No outcome for stop reason "${reason}".`);
}

/** What a session used. Unknown is null, never zero. */
export interface UsageReport {
  tokens_in: number | null;
  tokens_out: number | null;
  tokens_cached: number | null;
  /** Rounded to nine places. Null also where agents reported amounts in several currencies. */
  cost: number | null;
  /** ISO 4217; null without a cost, and for what is free under a plan or on one's own machine. */
  currency: string | null;
  model: string | null;
  duration_ms: number;
  /**
   * What the figures cover: the whole `session`, as the agent says, or only the `turns` that it reported, which need not
   * be all; null when nothing is known. A session of several attempts is whole when each of them is.
   */
  scope: "session" | "turns" | null;
  /** `reported` by the agent, `estimated` where the host put in the cost from the access mode's prices, or `unknown`. */
  basis: "reported" | "estimated" | "unknown";
}

/** A path that the session changed, derived from git. */
export interface Artifact {
  /** Relative to the working directory, with `/`. */
  path: string;
  change: "created" | "modified" | "deleted" | "renamed" | "untracked";
  /** The old path of a rename. */
  from?: string;
  kind: "file" | "symlink" | "submodule";
  /** Hex digest of the content now; null for what was deleted and for submodules. */
  sha256: string | null;
  /** Bytes now; null for what was deleted and for submodules. */
  bytes: number | null;
}

/** Where a result came from, complete enough to repeat it. Full on errors too. */
export interface Provenance {
  adapter_id: string;
  adapter_version: string;
  /** Hex SHA-256 of the one script that was evaluated; null if it never got that far. */
  package_sha256: string | null;
  grants: Permissions;
  host_version: string;
  runtime: string;
  model: string | null;
  /** Of the prompt as it was requested. */
  prompt_sha256: string;
  /** Of the prompt as the adapter got it, with all that the host added; null if it never got that far. */
  sent_prompt_sha256: string | null;
  git_base: string | null;
  git_head: string | null;
}

/** One try at a session on one adapter. */
export interface AttemptReport {
  attempt: number;
  adapter_id: string;
  started_at: string;
  duration_ms: number;
  /** Wait before it, since the attempt before. */
  waited_ms?: number;
  error?: ErrorData;
}

/** One adapter that took over from another. */
export interface Substitution {
  from: string;
  to: string;
  reason: string;
}

/** What a session really ran with, beside what was requested. */
export interface EffectiveSettings {
  permissions: Permissions;
  model: string | null;
  timeout_ms: number;
  idle_timeout_ms: number;
  /** Null: the agent's default. */
  allowed_tools: string[] | null;
  max_turns: number | null;
  approval: Approval;
  budget: Budget | null;
  /** Where it worked: in the folder that was asked for, or in a worktree of its own. */
  workspace: "inplace" | "worktree";
  access_mode: AccessMode["type"] | null;
  /** Fields of the request that the adapter cannot hold its agent to; only with `best_effort`. */
  unenforced: string[];
}

/** How often a session used what it may, and asked for what it may not; each use counts, also those no event tells of. */
export interface PermissionUses {
  allowed: number;
  denied: number;
  /** The same for each kind of permission that was used or asked for. */
  by: { [permission: string]: { allowed: number; denied: number } };
}

/** What a session came to. */
export interface SessionResult {
  session_id: string;
  task_id: string | null;
  outcome: Outcome;
  stop_reason: StopReason;
  /** The agent's final text. */
  output: string;
  /**
   * The session's normalised events, replayed from the journal. Left out of `session_ended` on the wire,
   * where they have just passed.
   */
  events?: AdapterEvent[];
  usage: UsageReport;
  /**
   * Paths changed while the session ran. They come from git alone, never from what the agent says;
   * null where git cannot tell, and then `artifacts_reason` says why.
   */
  artifacts: Artifact[] | null;
  artifacts_reason?: string;
  /**
   * Sessions that were active in the same folder, or in one that overlaps, meanwhile: some of the changes may be theirs.
   * Absent: there was none in this host.
   */
  artifacts_shared_with?: string[];
  /** Paths the agent claims to have changed and git does not show. */
  claimed_only: string[];
  /** 0 to 1, or null where the agent does not rate itself; 0 on error. */
  confidence: number | null;
  metadata: { tool_version: string | null; permissions: PermissionUses; [key: string]: unknown };
  provenance: Provenance;
  requested: SessionRequest;
  effective: EffectiveSettings;
  iterations: number;
  attempts: AttemptReport[];
  /** In their order; empty when the first adapter did it. */
  substitutions: Substitution[];
  /** The session whose agent this one went on with, after the host was killed. */
  resumed_from?: string;
  /** The session that goes on with the agent of this one, whose host was killed. */
  resumed_as?: string;
  error?: ErrorData;
}
