import type { QuotaWindow } from "./access-modes.ts";
import type { AccessMode } from "./access-modes.ts";
import type { ErrorData } from "./errors.ts";
import type { AdapterEvent } from "./events.ts";
import type { GitChange } from "./git-changes.ts";
import type { HeldChange, InstallScripts } from "./held.ts";
import type { Delivery, Part } from "./messages.ts";
import type { Permissions } from "./permissions.ts";
import type { SessionRequest, TurnTerms } from "./request.ts";
import type { Artifact, Outcome, SessionResult, StopReason, UsageReport } from "./result.ts";

/** How an agent knows of earlier turns: by its own session, by a text that the host made of them, or not at all. */
export type Memory = "agent" | "briefing" | "none";

/** The turn that a session of a conversation goes on from. */
export interface Follows {
  /** Id of the conversation's first session. */
  conversation_id: string;
  session_id: string;
  turn: number;
  /** `agent` and `terms`: the message asked for another agent, or what the agent may do has changed. */
  why: "message" | "restart" | "machine_lost" | "rewind" | "fork" | "agent" | "terms";
  memory: Memory;
  /** The message that began the session: its prompt. */
  message?: { message_id: string; by: { client: string } };
  /**
   * The session whose budget of cost or tokens it shares, as do all that go on from that one, forks too; and what they had
   * used before. Absent without such a budget, and where the session sets another one.
   */
  budget?: { of: string; cost: number; tokens: number };
}

/** First event of every session. */
export interface SessionStartedEvent {
  type: "session_started";
  adapter_id: string;
  workdir: string;
  task_id: string | null;
  labels: Record<string, string>;
  /** The same as in the result, so that nothing of the request is lost with the host. */
  requested: SessionRequest;
  effective: SessionResult["effective"];
  /** Ids of the adapters that may run it, in the order in which they are tried. */
  candidates: string[];
  /** Adapters that were considered and cannot run it, with the reason. */
  passed_over: { adapter_id: string; reason: string }[];
  /** The session that this one continues after its host was killed. */
  resumed_from?: string;
  /** Number of sessions that have continued that agent's session, including this one. */
  times_resumed?: number;
  /** The turn of an earlier session that this one goes on from. */
  follows?: Follows;
  /** Large data of the repository that is in no commit, copied into the session's worktree. Absent where it is little. */
  copied?: { files: number; bytes: number };
}
/** The session waits to start; `position` 1 is next. */
export interface QueuedEvent {
  type: "queued";
  position: number;
  /** Time after which it can start: its plugin crashed, or its agent is limited. */
  retry_in_ms?: number;
  /** One sentence: why it waits, if not for a slot. */
  reason?: string;
}
/** The adapter is about to run. */
export interface AttemptStartedEvent {
  type: "attempt_started";
  attempt: number;
  adapter_id: string;
  /** How it reaches its agent; absent when the adapter lists no access modes. */
  access_mode?: AccessMode["type"];
  /** Permissions of an adapter other than the one that the session started with. */
  permissions?: Permissions;
}
/** A try failed. */
export interface AttemptFailedEvent {
  type: "attempt_failed";
  attempt: number;
  adapter_id: string;
  error: ErrorData;
  /** Wait before the next try; null if there is none. */
  retry_in_ms: number | null;
}
/** Another adapter takes over. */
export interface FallbackEvent {
  type: "fallback";
  from: string;
  to: string;
  reason: string;
}
/** The broker started a child process. */
export interface ProcessSpawnedEvent {
  type: "process_spawned";
  process_id: number;
  pid: number;
  /** Distinguishes it from any other process with this pid; absent when the system cannot tell. */
  identity?: string;
  /** The real path and the arguments, with secrets redacted. */
  argv: string[];
}
/** A child process is gone. */
export interface ProcessExitedEvent {
  type: "process_exited";
  process_id: number;
  pid: number;
  exit_code: number | null;
  signal: string | null;
  duration_ms: number;
}
/** A permission request or question is closed. */
export interface PermissionResolvedEvent {
  type: "permission_resolved";
  request_id: string;
  /** The chosen option's id, or null without an answer. */
  choice: string | null;
  /** `agent`: it took the request back, or its tool call is over. */
  by: "client" | "policy" | "deadline" | "agent" | "session_end";
}
/** The broker allowed or denied something. */
export interface CapabilityEvent {
  type: "capability";
  permission: "run" | "read" | "write" | "net" | "env" | "secrets" | "mcp_servers" | "kv" | "log";
  target: string;
  decision: "allowed" | "denied";
  /** For a denial: the exact command that would grant it. */
  grant_command?: string;
  /**
   * For a denial: `false` if that command is not enough, since the plugin does not ask for the permission or another
   * rule takes it away.
   */
  grantable?: false;
  /** For a denial: `false` for a host that the plugin's manifest names under `housekeeping`. */
  needed?: false;
  /** The line that plugin.yaml lacks, where the plugin did not ask for what was denied. */
  manifest_entry?: string;
  /** For a denial: the file that would allow it, and the line where the grant is or belongs. */
  grant_file?: string;
  grant_line?: number;
  /**
   * For a denial: what to do, where a grant is not all that it takes. Of a guarded place of the project: how it changed, or
   * why programs only read it. Of a socket: that programs could connect to it.
   */
  reason?: string;
}
/** The worker that served the session has ended. */
export interface WorkerEvent {
  type: "worker";
  state: "crashed" | "killed" | "out_of_memory";
  message: string;
}
/** Changes in the working directory. */
export interface ArtifactsEvent {
  type: "artifacts";
  artifacts: Artifact[] | null;
  reason?: string;
  /** Changed paths that the list leaves out, as in the result's `artifacts_omitted`. */
  omitted?: number;
  /** Sessions that were active in the same files meanwhile: git cannot tell whose changes these are. */
  shared_with?: string[];
}
/** Changes of the agent in its own git folder, and where they are now. In there no hook runs and nothing is signed. */
export interface GitEvent {
  type: "git";
  changes: GitChange[];
  /** Changes that the list leaves out. */
  omitted?: number;
}
/**
 * Changes in the working directory that can run a program outside an agent's walls. A person applies or drops each; until
 * then it stays where the session left it.
 */
export interface HeldEvent {
  type: "held";
  held: HeldChange[];
  /** Packages whose scripts for an install changed: they are named and not held. */
  install_scripts: InstallScripts[];
}
/** The session has taken a message of a client. */
export interface MessageAcceptedEvent {
  type: "message_accepted";
  message_id: string;
  delivery: Delivery;
  content: Part[];
  by: { client: string };
  /** JSON Schema for the turn that it begins. */
  output_schema?: Record<string, unknown>;
  /** Span of the client that gave it. */
  traceparent?: string;
  /** Terms from the turn that it begins on. */
  with?: TurnTerms;
}
/** A client has changed a message that waits; it keeps its place. */
export interface MessageChangedEvent {
  type: "message_changed";
  message_id: string;
  content: Part[];
}
/** The adapter is about to get a message for the running turn. It answers whether the agent took it. */
export interface MessageSentEvent {
  type: "message_sent";
  message_id: string;
  turn: number;
}
/** The agent has a message: as the prompt of a new turn, or in a turn that ran. */
export interface MessageDeliveredEvent {
  type: "message_delivered";
  message_id: string;
  turn: number;
  how: "new_turn" | "injected";
}
/** The agent does not get a message in this session. */
export interface MessageDroppedEvent {
  type: "message_dropped";
  message_id: string;
  /**
   * `withdrawn` by a client. `unsure`: the agent may have seen it. `turn_failed`: the turn before it. `moved`: another
   * session takes it.
   */
  reason: "withdrawn" | "unsure" | "turn_failed" | "session_ended" | "host_restarted" | "moved";
  /** The session that takes it. */
  to?: string;
}
/** The agent works on a prompt. A session of one turn has no events of turns. */
export interface TurnStartedEvent {
  type: "turn_started";
  /** Number in the conversation. */
  turn: number;
  /** The turn that it goes on from; 0: none. */
  after: number;
  /** Messages in its prompt. */
  message_ids: string[];
  /** `agent`: it went on by itself. */
  by: "client" | "agent";
  /** Terms that hold instead of the request's; absent: none. */
  with?: TurnTerms;
  memory: Memory;
  prompt_sha256: string;
  /** Id of the tree of files before the turn; null where none was kept. */
  checkpoint: string | null;
}
/** A turn is over, with the same facts as in a result. */
export interface TurnEndedEvent {
  type: "turn_ended";
  turn: number;
  outcome: Outcome;
  stop_reason: StopReason;
  output: string;
  structured_output?: unknown;
  usage: UsageReport;
  artifacts: Artifact[] | null;
  artifacts_reason?: string;
  /** Id of the tree of files after the turn; null where none was kept. */
  checkpoint: string | null;
  /** Why there is none, where the request asks for them. */
  checkpoint_reason?: string;
  /** The agent's own name for this moment of its session. */
  agent_ref?: string;
  error?: ErrorData;
}
/** A call of the agent's model has passed, or was refused: the host holds the key, so it sees them. */
export interface ModelCallEvent {
  type: "model_call";
  /** As the answer names it. */
  model: string | null;
  /** HTTP status; null where no answer came. */
  status: number | null;
  tokens_in: number | null;
  tokens_out: number | null;
  tokens_cached: number | null;
  /** By the access mode's prices; null where they are unknown. */
  cost: number | null;
  currency: string | null;
  /** True when the answer broke off or told no figures: these are at least. */
  partial?: true;
  /** Use that a budget counts, where that is more: see `WireUsage`. */
  counted?: { tokens: number; cost: number };
  /** The host refused it, since this budget was spent. */
  refused?: "budget_cost" | "budget_tokens";
  /** Name of the operator's budget that it was; absent: the session's own. */
  budget?: string;
  windows?: QuotaWindow[];
}
/** Files of the conversation were taken back since its session before. */
export interface RewoundEvent {
  type: "rewound";
  /** Turn after which the files were then as they had been; 0: before all turns. */
  to: number;
  /** It took the rewind before it back. */
  undo: boolean;
  at: string;
  /** Ids of the trees of files before it and after. */
  before: string;
  after: string;
  /** Number of files that it changed, and of those that it left alone. */
  files: number;
  left: number;
}
/** Marks events that are no longer stored. */
export interface GapEvent {
  type: "gap";
  from_seq: number;
  to_seq: number;
  /** Present where a damaged journal has lost these events; the session may go on after them. */
  damaged?: true;
}
/** Last event of every session, exactly one. */
export interface SessionEndedEvent {
  type: "session_ended";
  result: SessionResult;
}

/** Events that the host adds to a session's stream. */
export type HostEvent =
  | SessionStartedEvent
  | QueuedEvent
  | AttemptStartedEvent
  | AttemptFailedEvent
  | FallbackEvent
  | ProcessSpawnedEvent
  | ProcessExitedEvent
  | PermissionResolvedEvent
  | CapabilityEvent
  | WorkerEvent
  | GitEvent
  | ArtifactsEvent
  | HeldEvent
  | MessageAcceptedEvent
  | MessageChangedEvent
  | MessageSentEvent
  | MessageDeliveredEvent
  | MessageDroppedEvent
  | TurnStartedEvent
  | TurnEndedEvent
  | ModelCallEvent
  | RewoundEvent
  | GapEvent
  | SessionEndedEvent;

/** All host event types, in the order of the documentation. */
export const hostEventTypes: readonly HostEvent["type"][] = [
  "session_started",
  "queued",
  "attempt_started",
  "attempt_failed",
  "fallback",
  "process_spawned",
  "process_exited",
  "permission_resolved",
  "capability",
  "worker",
  "git",
  "artifacts",
  "held",
  "message_accepted",
  "message_changed",
  "message_sent",
  "message_delivered",
  "message_dropped",
  "turn_started",
  "turn_ended",
  "model_call",
  "rewound",
  "gap",
  "session_ended",
];

/** One event of a session as clients see it. */
export interface Envelope {
  v: 1;
  /** Number in the session, from 1, without gaps. */
  seq: number;
  /** Number in the host, strictly rising, also over restarts. */
  gseq: number;
  /** RFC 3339, UTC. */
  ts: string;
  session_id: string;
  attempt: number;
  adapter: { id: string; version: string };
  source: "agent" | "host";
  /** True for an event that the host made in the adapter's place, so that the stream keeps its rules. */
  synthetic?: true;
  /** The machine that it comes from; only in the merged events of a cluster. */
  machine?: string;
  /** One opaque token by which a reader of a cluster's merged events goes on after this one, on any machine. */
  cursor?: string;
  event: AdapterEvent | HostEvent;
}
