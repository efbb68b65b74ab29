import type { ReplayReport, WireRecordReport } from "./black-box.ts";
import type { GitChange } from "./git-changes.ts";
import type { ErrorData } from "./errors.ts";
import type { AdapterEvent } from "./events.ts";
import type { HeldChange, InstallScripts } from "./held.ts";
import type { Permissions } from "./permissions.ts";
import type { AccessMode } from "./access-modes.ts";
import type { Approval, Budget, Effort, SessionRequest } from "./request.ts";

/** How a session ended, coarsely. */
export type Outcome = "completed" | "blocked" | "error";

/** Every stop reason, by its outcome. */
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
    "machine_lost",
    "output_invalid",
    "fatal",
  ],
} as const;

/** How a session ended, exactly. */
export type StopReason = (typeof stopReasons)[Outcome][number];

/** Returns the outcome of a stop reason. */
export function outcomeOf(reason: StopReason): Outcome {
  for (const outcome of Object.keys(stopReasons) as Outcome[]) {
    if ((stopReasons[outcome] as readonly string[]).includes(reason)) return outcome;
  }
  throw new TypeError(`No outcome for stop reason "${reason}".`);
}

/** Usage of a session. Unknown is null, never zero. */
export interface UsageReport {
  tokens_in: number | null;
  tokens_out: number | null;
  tokens_cached: number | null;
  /** Rounded to nine places. Also null when agents reported amounts in several currencies. */
  cost: number | null;
  /** ISO 4217; null without a cost, and for free use under a plan or of a local model. */
  currency: string | null;
  model: string | null;
  duration_ms: number;
  /**
   * Range of the figures: the whole `session`, as the agent reports it, or only the `turns` that it reported, perhaps
   * not all; null when nothing is known. A session of several attempts is whole when each of them is.
   */
  scope: "session" | "turns" | null;
  /** The agent called its model besides, for a title or in its sub-agents, and did not count that: the tokens are at least these. */
  partial?: true;
  /**
   * Requests that the host sent to the agent's model with the key that it holds, those that the agent does not count and
   * those that it tried again included; absent where none went that way.
   */
  requests?: number;
  /** Input and output tokens together, where their sum is all that the adapter tells. */
  tokens_used?: number;
  /** Calls of the agent's model that the host saw, since it holds the key; absent where it saw none. */
  wire?: WireUsage;
  basis: UsageBasis;
}

/**
 * The source of figures: counted by the host in every call (`wire`), with a cost from the access mode's prices;
 * `reported` by the agent; `estimated` from those prices and the agent's tokens; or `unknown`.
 */
export type UsageBasis = "wire" | "reported" | "estimated" | "unknown";

/** Figures of the calls that the host saw. Sub-agents, titles and retries are in them. */
export interface WireUsage {
  calls: number;
  /** Of these, those whose answer broke off or told no figures: the sums are at least these. */
  unknown: number;
  tokens_in: number;
  tokens_out: number;
  tokens_cached: number;
  /** By the access mode's prices; null where one of the calls has none. */
  cost: number | null;
  currency: string | null;
  /** Input and output tokens by the agent's own word, where they differ from those seen by more than 5 %. */
  reported_tokens?: number;
  /** Use that a budget counts, where that is more: by the size of calls that told no figures, and at the highest price. */
  counted?: { tokens: number; cost: number };
}

/** A path that the session changed, derived from git. */
export interface Artifact {
  /** Relative to the working directory, with `/`. */
  path: string;
  change: "created" | "modified" | "deleted" | "renamed" | "untracked";
  /** The old path of a rename. */
  from?: string;
  kind: "file" | "symlink" | "submodule";
  /** Hex digest of the current content; null for deleted files and submodules. */
  sha256: string | null;
  /** Current size in bytes; null for deleted files and submodules. */
  bytes: number | null;
  /** Lines that the change adds and takes away; absent where they are not known, and for what is no text. */
  lines?: { added: number; removed: number };
}

/** Origin of a result, complete enough to repeat it. Also complete after errors. */
export interface Provenance {
  adapter_id: string;
  adapter_version: string;
  /** Hex SHA-256 of the one script that was evaluated; null if the session never got that far. */
  package_sha256: string | null;
  grants: Permissions;
  host_version: string;
  runtime: string;
  model: string | null;
  /** Hash of the prompt as it was requested. */
  prompt_sha256: string;
  /**
   * Hash of the prompt as the adapter got it, with all additions of the host; null if the session never got that far.
   */
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
  /** Wait since the previous attempt, and for the end of a limit. */
  waited_ms?: number;
  error?: ErrorData;
}

/** One adapter that took over from another. */
export interface Substitution {
  from: string;
  to: string;
  reason: string;
}

/** Settings that a session really ran with, in addition to the requested ones. */
export interface EffectiveSettings {
  permissions: Permissions;
  model: string | null;
  timeout_ms: number;
  idle_timeout_ms: number;
  /** How long a permission request or question waits for a client; absent in results of older hosts. */
  answer_timeout_ms?: number;
  /** Null: the agent's default. */
  allowed_tools: string[] | null;
  max_turns: number | null;
  approval: Approval;
  budget: Budget | null;
  /**
   * The figures that hold cost and tokens to the budget: those of the calls that the host sees pass (`wire`), or with
   * `best_effort` those that the agent reports, which come late. Absent without such a budget.
   */
  budget_basis?: "wire" | "reported";
  /** Place of its work: the requested folder, or a separate worktree. */
  workspace: "inplace" | "worktree";
  access_mode: AccessMode["type"] | null;
  /**
   * How the agent was held to the request's `output_schema`: `enforced` by its adapter, or `asked` in its prompt. Absent:
   * the request has none.
   */
  output_schema?: "enforced" | "asked";
  /** As the request has it; absent where it says nothing, or the adapter does not take it. */
  effort?: Effort;
  plan?: boolean;
  /** Fields of the request that the adapter cannot enforce; only with `best_effort`. */
  unenforced: string[];
}

/**
 * How often a session used a permission it had, or asked for one it lacked; counts every use, even those without an
 * event.
 */
export interface PermissionUses {
  allowed: number;
  denied: number;
  /** The same for each kind of permission that was used or requested. */
  by: { [permission: string]: { allowed: number; denied: number } };
  /** The same for each `host:port` that its adapter or its programs called; the first 200; absent: none was called. */
  hosts?: { [host: string]: HostUses };
}

/** Calls of one host. */
export interface HostUses {
  allowed: number;
  denied: number;
  /** Denied calls of a host that the plugin's manifest names under `housekeeping`; `denied` leaves them out. */
  not_needed?: number;
}

/** Most hosts that {@link PermissionUses} counts one by one. */
export const countedHosts = 200;

/** One turn of a session; the event `turn_ended` has the rest. */
export interface TurnReport {
  turn: number;
  outcome: Outcome;
  stop_reason: StopReason;
  /** At most the first 4,096 characters. */
  output: string;
  usage: UsageReport;
  error?: ErrorData;
}

/** Result of a session. Of several turns: output, data, stop reason and error of the last one, usage and changes of all. */
export interface SessionResult {
  session_id: string;
  task_id: string | null;
  outcome: Outcome;
  stop_reason: StopReason;
  /** The agent's final text. */
  output: string;
  /** The result as data, if the agent gave any; data that breaks the output schema stands in the error's details. */
  structured_output?: unknown;
  /**
   * The session's normalised events, replayed from the journal. Left out of `session_ended` on the wire, where the
   * client has just received them.
   */
  events?: AdapterEvent[];
  usage: UsageReport;
  /**
   * Paths changed during the session. They come from git alone, never from the agent's claims; null when git cannot
   * tell, and then `artifacts_reason` says why.
   */
  artifacts: Artifact[] | null;
  artifacts_reason?: string;
  /**
   * Changed paths that `artifacts` leaves out. It lists at most 10,000, of at most 4 MiB: first what happened to files that
   * were there before, then new files that git tracks, then the rest. Absent: it has all.
   */
  artifacts_omitted?: number;
  /** Id of the tree of files after the session, null where none was kept. Absent: the session keeps none. */
  checkpoint?: string | null;
  checkpoint_reason?: string;
  /** Changes of the agent in its own git folder, and where they are now, as in the event `git`. Absent: nothing. */
  git_changes?: GitChange[];
  /**
   * Sessions that were active in the same folder, or in an overlapping one, meanwhile: some of the changes may be
   * theirs. Absent: there was none in this host.
   */
  artifacts_shared_with?: string[];
  /**
   * Changes that can run a program outside an agent's walls, and wait for a person's word; absent: there is none. Found
   * in the folder itself, ignored files too.
   */
  held?: HeldChange[];
  /** Packages whose scripts for an install changed; absent: there is none. */
  install_scripts?: InstallScripts[];
  /** Paths the agent claims to have changed, which git does not show. */
  claimed_only: string[];
  /** 0 to 1, or null if the agent does not rate itself; 0 on error. */
  confidence: number | null;
  metadata: { tool_version: string | null; permissions: PermissionUses; [key: string]: unknown };
  provenance: Provenance;
  requested: SessionRequest;
  effective: EffectiveSettings;
  iterations: number;
  attempts: AttemptReport[];
  /** Absent for a session of one turn. */
  turns?: TurnReport[];
  /** In order; empty when the first adapter did the work. */
  substitutions: Substitution[];
  /** The session that this one continues after its host was killed. */
  resumed_from?: string;
  /** The session that continues this one, whose host was killed. */
  resumed_as?: string;
  /** Calls of models that were recorded; absent: the request does not ask for that. */
  recorded?: WireRecordReport;
  /** How its calls went; absent: it is no replay. */
  replay?: ReplayReport;
  error?: ErrorData;
}
