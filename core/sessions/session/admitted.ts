import type { CheckpointStore } from "../../records/checkpoints/checkpoint-store.ts";
import type { AccessMode } from "../../../plugin-sdk/access-modes.ts";
import type { ProjectMemory } from "../../../plugin-sdk/context.ts";
import type { SessionStartedEvent } from "../../../plugin-sdk/envelope.ts";
import type { ErrorData } from "../../../plugin-sdk/errors.ts";
import type { HeldChange } from "../../../plugin-sdk/held.ts";
import type { ModelEndpoint } from "../../../plugin-sdk/manifest.ts";
import type { AttachmentPart } from "../../../plugin-sdk/messages.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import type { SessionRequest, TurnTerms } from "../../../plugin-sdk/request.ts";
import type { HeldItem } from "../../records/gate/held-item.ts";
import type { LookStart } from "../../records/gate/known-entries.ts";
import type { SharedLooks } from "../../records/git/shared-looks.ts";
import type { MeteredCall } from "../../walls/agent/meter/meter.ts";
import type { AskGrant, MissingGrant, SessionBroker, SessionBrokerOptions } from "../../walls/broker/session-broker.ts";
import type { Redactor } from "../../ground/log/redact.ts";
import type { Wire } from "../../walls/agent/wire.ts";
import type { WorkerPlace } from "../../walls/pool/plugin-pool.ts";
import type { OwnEditFilter } from "../../packages/manifest/manifest-edits.ts";
import type { Plugin, PluginScript } from "../../packages/manifest/plugin.ts";
import type { ApprovalRules } from "./approval-policy.ts";
import type { LateEnd } from "./late-ends.ts";
import type { MergedLog } from "./merged-log.ts";
import type { SessionResult, StopReason } from "../../../plugin-sdk/result.ts";
import type { Deadlines } from "./deadlines.ts";
import type { EventAllowance, EventRules } from "./event-rules.ts";
import type { OpenRequests } from "./open-requests.ts";
import type { SessionGit } from "./session-git.ts";
import type { SessionStream } from "./session-stream.ts";
import type { SessionMessage, SessionTurns, TurnPrompt } from "./session-turns.ts";
import type { SessionAccount } from "./spend/named-budgets.ts";
import type { BudgetShare } from "./spend/shared-budgets.ts";
import type { SessionUsage } from "./spend/usage-meter.ts";

/** How an attempt on a candidate ended. */
export interface AttemptEnd {
  /** Null when the agent did not report them. */
  tokens: number | null;
  error?: ErrorData | undefined;
  /** For a rate limit: how long it holds; null when the agent did not say. */
  wait_ms?: number | null;
}

/** A turn that is over, as a briefing tells it. */
export interface EarlierTurn {
  prompt: string;
  output: string;
  /** Names of changed files. */
  files: readonly string[];
}

/** A turn that enters the adapter again. */
export interface FurtherTurn {
  text: string;
  content: readonly AttachmentPart[];
  outputSchema: Record<string, unknown> | undefined;
  /** Instead of the request's. */
  terms: TurnTerms;
  /** The agent's own session; null where there is none to go on with. */
  agentSession: string | null;
  /** Turns for an agent that does not remember them. */
  earlier: readonly EarlierTurn[];
}

/** One adapter that may run a session, with everything specific to it. */
export interface Candidate {
  plugin: Plugin;
  /** The request as the adapter gets it: fitted to the plugin, with the complete prompt. */
  request: SessionRequest;
  /**
   * Makes that request with a briefing instead of a session of the agent's own; null where the host has chosen none for it.
   */
  briefedRequest: (() => Promise<SessionRequest>) | null;
  /** How the agent is reached; null when the plugin names no access mode. */
  accessMode: AccessMode | null;
  /** Places for which the host keeps the keys of its programs. */
  endpoints: ModelEndpoint[];
  /** Whether the person's settings send the agent to a gateway of their own: what that bills is unknown. */
  hasOwnGateway?: boolean;
  /** When its agent can be used again, in milliseconds since 1970; null when it is not limited. */
  limitedUntil: number | null;
  /** Called when an attempt on it has a worker and enters the adapter. */
  started(): void;
  /** Called for each call of its agent's model that the host saw; absent: nothing of it counts elsewhere. */
  told?(call: MeteredCall): void;
  /** Called when an attempt on it has ended. */
  ended(end: AttemptEnd): void;
  /** Fields of the request that neither adapter nor host can enforce. */
  unenforced: string[];
  /** Whether the calls of its agent's model pass through the host. */
  seesCalls: boolean;
  /** Decides each call of the session. */
  rights: SessionBrokerOptions["rights"];
  /** Permissions that are allowed as a whole. */
  effective: Permissions;
  approval: ApprovalRules;
  /** Instructions of the project for an agent that does not read them; null for others, and where there are none. */
  projectMemory: ProjectMemory | null;
  /** Text of the file that names the session's MCP servers to the agent; null when it has none. */
  mcpConfig: string | null;
  /** Values of the secrets of the session and of its MCP servers. */
  secrets: ReadonlyMap<string, string>;
  grantPlace: NonNullable<SessionBrokerOptions["grantPlace"]>;
  /** Values of the request's `env`; all names are granted. */
  requestEnv: Record<string, string>;
  dataDir: string;
  /** Counts the sessions of its plugin that are under way, including those that wait. */
  load: { sessions: number };
  /**
   * Returns the request of a further turn: its prompt alone, to go on with the agent's own session where that is known.
   */
  furtherRequest(turn: FurtherTurn): SessionRequest;
  script(): Promise<PluginScript>;
  acquire(options: { signal: AbortSignal; onQueued(position: number, waitMs: number): void }): Promise<WorkerPlace>;
  writeLog: SessionBrokerOptions["writeLog"];
}

/** The session that another one continues, and how many have continued it, including this one. */
export interface Resumed {
  from: string;
  times: number;
}

/** The folder in which a session works, and what happens to it afterwards. */
export interface SessionPlace {
  /** Real absolute path of the folder that the agent works in. */
  workdir: string;
  /** Top of the session's worktree; undefined when it works in place. */
  workspaceDir: string | undefined;
  /** Large data that was copied into the worktree; null for little. */
  copied: { files: number; bytes: number } | null;
  /** Finds what an apply of the worktree will hold; null when the session works in place. */
  noteHeld: (() => Promise<HeldChange[]>) | null;
  /** Resets a worktree to its base for another attempt; null in place, and where earlier sessions worked in it. */
  reset: (() => Promise<void>) | null;
  /** Resolves to the result once the place is left: an unchanged worktree is removed, any other waits. */
  leave(result: Promise<SessionResult>): Promise<SessionResult>;
  /** Removes the place when the session does not start after all. Never rejects. */
  abandon(): Promise<void>;
}

/** An adapter that cannot run a session, and why. */
export interface PassedOverAdapter {
  adapter_id: string;
  reason: string;
}

/** Records the calls of a session's programs to their models, or answers them from a record. */
export interface SessionBox {
  /** Whether it answers them: programs have no key then, and no network. */
  isReplay: boolean;
  /** @param onDrift ends the session: a call was not recorded */
  wire(onDrift: (error: ErrorData) => void): Wire;
  /** Ends it, with the number of turns and the tree of files after the session. Never rejects. */
  end(facts: { turns: number; tree: string | null }): Promise<Pick<SessionResult, "recorded" | "replay">>;
}

/** One session as it was admitted: made once, before it runs, and only read after. */
export interface Admitted {
  readonly sessionId: string;
  /** The request as the client sent it, checked. */
  readonly request: SessionRequest;
  /** The session whose agent this one continues; null for a fresh agent session. */
  readonly resumed: Resumed | null;
  /** The turn of an earlier session that this one goes on from; null where it begins a conversation. */
  readonly follows: SessionStartedEvent["follows"] | null;
  readonly place: SessionPlace;
  /** In the order in which they are tried. */
  readonly candidates: readonly [Candidate, ...Candidate[]];
  /** Requested adapters that cannot run it. */
  readonly passedOver: PassedOverAdapter[];
  /** Adapters of `passedOver` that the client named before the first candidate, which takes over from them. */
  readonly replaced: PassedOverAdapter[];
  readonly artifacts: "git" | "none";
  /** Redacts the secrets of all candidates from all output; null when there are none. */
  readonly redactor: Redactor | null;
  /** Null where calls of models are neither recorded nor replayed. */
  readonly box: SessionBox | null;
  /** Null where no budget of the operator's covers it. */
  readonly account: SessionAccount | null;
  /** Null where its request names no budget of cost or tokens. */
  readonly share: BudgetShare | null;
  /** Number of the session's first turn in its conversation. */
  readonly firstTurn: number;
  /** Whether it begins without a turn: it waits for a message, or only says where its conversation goes on from. */
  readonly beginsIdle: boolean;
  /** How long it waits for a message after each turn. Milliseconds. */
  readonly keepMs: number;
  /** The signal by which an agent reports that its whole task is done; null when the agent was given none. */
  readonly loopSignal: string | null;
  /** How long a request or question waits for a client; 0: no client answers. */
  readonly answerTimeoutMs: number;
}

/** A session that rests with its agent's program kept. */
export interface KeptSession {
  pluginId: string;
  /** Ends it in order, to make room. */
  end(): void;
  /** Returns the memory of its programs in bytes; null where that cannot be measured. */
  heldBytes(): Promise<number | null>;
}

/** Collaborators of one session. */
export interface RunningSessionDeps {
  log: MergedLog;
  /** Looks at working directories for all sessions of the host. */
  looks: SharedLooks;
  /** Folder with the scratch files of all sessions. */
  scratchDir: string;
  /** Folder with the private git folders of all sessions. */
  gitDir: string;
  /** Real absolute path that never holds artifacts: the host's own state. */
  stateDir: string;
  /** Real absolute paths that no snapshot copies. */
  secretPaths: readonly string[];
  /** Begins to watch the host's own files; the function it gives takes the host's own edits out of artifacts. */
  watchOwnFiles(): Promise<OwnEditFilter>;
  /** Notes that the session works in a folder in place, for a host that finds this one killed. */
  watchHeld(watched: { folder: string; start: LookStart }): Promise<void>;
  /** Keeps what a session in place left until a person applies or drops it. */
  keepHeld(held: { folder: string; items: HeldItem[] }): Promise<void>;
  /** Opens the store of a conversation's files; see {@link openCheckpoints}. */
  openCheckpoints(options: { conversation: string; workdir: string; signal?: AbortSignal }): Promise<CheckpointStore>;
  /** @throws {BulkheadError} `not_found`, `io_error` */
  readAttachment(sha256: string): Promise<{ bytes: Uint8Array; mime_type: string }>;
  /** Keeps its end, which could not be written, until it can be. */
  keepEnd(end: LateEnd): void;
  /** Returns true when the session may not go on with a next turn, because its terms are no longer those of its start. */
  termsChanged(candidate: Candidate): Promise<boolean>;
  /** Gives messages to the conversation's next session; returns its id. */
  moveMessages(messages: SessionMessage[]): string;
  /** Counts the session as one that rests with its agent kept. Returns how it leaves. */
  keep(kept: KeptSession): () => void;
  /** Returns the ids of the sessions that worked in the same folder meanwhile. */
  sharedWith(): Promise<string[]>;
  /** Returns the places that no grant opens. */
  guarded(): Pick<SessionBrokerOptions, "protectedPaths" | "sealedPaths" | "pluginPlaces" | "autoexecNames">;
  makeBroker(options: SessionBrokerOptions): SessionBroker;
  askGrant?: AskGrant | undefined;
  /** Returns what the operator denies a plugin now, which may be more than when the session started. */
  deniedNow(pluginId: string): Permissions;
  /** Keeps a client's "never" as a denial of the plugin. Never rejects. Absent: no file would keep it. */
  keepDenial?: ((denied: MissingGrant) => Promise<void>) | undefined;
}

/** Collaborators of an attempt that all attempts of a session share. */
export interface AttemptDeps {
  session: Admitted;
  host: Pick<RunningSessionDeps, "guarded" | "makeBroker" | "readAttachment" | "askGrant" | "deniedNow" | "keepDenial">;
  stream: SessionStream;
  rules: EventRules;
  requests: OpenRequests;
  deadlines: Deadlines;
  usage: SessionUsage;
  turns: SessionTurns;
  allowance: EventAllowance;
  git: SessionGit;
  /** The session's own folder; created on first use. */
  scratch: string;
  /** Aborts when the session must end. */
  readonly signal: AbortSignal;
  /** The highest process id so far in the stream. */
  processes: { lastId: number };
  /**
   * Ends the turn under way of an entry that asks for the next one, and waits for that; null when the entry gets no more.
   * @param isOver whether the entry has ended meanwhile: the turn then begins in another one
   */
  nextTurn(seen: readonly string[], isOver: () => boolean): Promise<TurnPrompt | null>;
  /** The agent went on by itself, with these steers. */
  turnBegan(messageIds: readonly string[]): void;
  /** The agent named its session. */
  onAgentSession(id: string): void;
  /** The agent said the last word of a turn. */
  onLastWord(): void;
  /** Ends the whole session. */
  stop(reason: StopReason, error: ErrorData): void;
  /** Called when an event changes what a budget counts. */
  onUsed(): void;
  /** Called for each call of the agent's model that the host saw. */
  onModelCall(call: MeteredCall): void;
  /** Returns why the agent's model is not to be called; null while it may be. @param isRead whether the call's figures are */
  spent(isRead: boolean): string | null;
  /** Called before the session's scratch folder may be used. */
  onScratch(): void;
}
