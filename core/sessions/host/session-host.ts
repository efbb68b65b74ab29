import type { AgentReport } from "../../../plugin-sdk/agent-report.ts";
import type { BudgetReport } from "../../../plugin-sdk/budget-report.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type {
  ConversationReport,
  ForkRequest,
  MessageReport,
  MessageState,
  NewMessage,
  RewindReport,
  RewindRequest,
  SaidMessage,
  TurnDiff,
} from "../../../plugin-sdk/conversation.ts";
import type { Part, StoredAttachment } from "../../../plugin-sdk/messages.ts";
import type { EventQuery, SessionCounts, SessionQuery } from "../../../plugin-sdk/queries.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import type { SessionHistory } from "../../../plugin-sdk/session-history.ts";
import type { SessionSummary } from "../../../plugin-sdk/session-summary.ts";
import type { UsageQuery, UsageRow } from "../../../plugin-sdk/usage-row.ts";
import type { WorktreeDiff } from "../../../plugin-sdk/workspace.ts";
import type { AgentsOptions } from "./routes.ts";
import type { AgentCapabilities } from "../../../plugin-sdk/capabilities.ts";

/** Labels by which a door finds the sessions of a conversation again: the door and the conversation. */
export const conversationLabelNames = ["door", "acp_session"] as const;

/** Bytes of an upload, in pieces. */
type AttachedBytes = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** The part of a session's events to read. */
export interface HandleEventQuery extends EventQuery {
  /** Events that are read from the journal at a time: few for a reader that leaves after the first. */
  readAhead?: number;
}

/** One session as a door sees it: running, ended, or of an earlier host of this state folder. */
export interface SessionHandle {
  readonly id: string;
  /**
   * Streams its events in order; ends after `session_ended`. For a session that was deleted or evicted by retention:
   * one `gap`.
   */
  events(query?: HandleEventQuery): AsyncIterable<Envelope>;
  /**
   * Resolves when it has ended; never rejects for a failure of the agent.
   * @throws {BulkheadError} `not_found` for a session that was deleted
   */
  result(): Promise<SessionResult>;
  /**
   * Stops it gracefully; for a session that has ended, returns the result.
   * @throws {BulkheadError} `busy` for a session that another host of the state folder runs
   */
  interrupt(): Promise<SessionResult>;
  /**
   * Answers a permission request with one of its choices, or a question with any text; false when it is unknown,
   * closed, or does not offer the choice. Null denies it: a person gave no answer, or none that can be understood.
   */
  answer(requestId: string, choice: string | null): Promise<boolean>;
}

/** Talk with agents: each id may be that of any session of a conversation. */
export interface Conversations {
  /**
   * Gives a conversation a message. Where its newest session has ended, or the message asks for other terms, it begins the
   * conversation's next session. Resolves once it is durable.
   * @param caller the name of the client, and its admission of a session that the message would begin
   * @throws {BulkheadError} `not_found`, `conflict` for a turn that does not run, `idempotency_conflict`, `limit_exceeded`,
   * `too_large`, `unsupported`, `unenforceable`, and what starting a session throws
   */
  say(id: string, message: NewMessage, caller?: MessageCaller): Promise<SaidMessage>;
  /** Lists the messages of a conversation, in the order in which they were accepted. */
  messages(id: string, query?: { state?: MessageState }): Promise<MessageReport[]>;
  /**
   * Changes the text of a message, which may keep its attachments or lose them.
   * @throws {BulkheadError} `not_found`, `conflict` with its state for a message that waits no more
   */
  edit(id: string, messageId: string, content: Part[]): Promise<MessageReport>;
  /** @throws {BulkheadError} as {@link Conversations.edit} */
  withdraw(id: string, messageId: string): Promise<MessageReport>;
  /**
   * Stops the turn under way; the session goes on with what waits. Resolves once it is asked.
   * @throws {BulkheadError} `not_found`, `conflict` where no turn runs
   */
  stop(id: string, options?: { drop_pending?: boolean }): Promise<void>;
  /** @throws {BulkheadError} `not_found` */
  get(id: string): Promise<ConversationReport>;
  /**
   * Takes a conversation back to an earlier turn: its files, its talk, or both as a whole, which ends a session that is kept;
   * or tells what that would do.
   * @throws {BulkheadError} `busy` while a turn runs or another session works in the folder; `conflict` with the paths in
   * `details.paths`; `not_found`, also where no checkpoints were kept
   */
  rewind(id: string, request: RewindRequest, caller?: MessageCaller): Promise<RewindReport>;
  /**
   * Begins a new conversation, whose agent knows the turns of this one up to a turn: by a copy of its own session, or by a
   * briefing. Returns its first session.
   * @throws {BulkheadError} `not_found` for a turn that it does not have, or of which no files are kept; `busy` for one that
   * runs, `invalid_request`, `idempotency_conflict`, and what starting a session throws
   */
  fork(id: string, request: ForkRequest, caller?: MessageCaller): Promise<SessionSummary>;
  /**
   * Compares the files before and after one turn that is over.
   * @throws {BulkheadError} `not_found`, also where no checkpoints were kept
   */
  turnDiff(id: string, turn: number): Promise<TurnDiff>;
  /** Streams the events of its sessions one after the other, by `gseq`; ends when its newest session has ended. */
  events(id: string, query?: EventQuery): AsyncIterable<Envelope>;
}

/** Client that gives a message. */
export interface MessageCaller {
  client?: string;
  /** Whether the client may read a session, and so name its attachments. Absent: none. */
  mayRead?(sessionId: string): boolean;
  /** Checks, and may narrow, the request of a session that the message would begin. */
  admit?(request: SessionRequest): SessionRequest | Promise<SessionRequest>;
}

/**
 * The interface between doors and a host. Both the host in this process and a daemon behind its API implement it: a
 * door does not know which one it uses. Each is a plain object, so that `{ ...host, start }` is a host too.
 */
export interface SessionHost {
  /** @throws {BulkheadError} as `Host.runSession` */
  start(request: SessionRequest, options?: RunSessionOptions): Promise<SessionHandle>;
  list(query?: SessionQuery): Promise<SessionSummary[]>;
  /** Counts the sessions that match, by what a list can be narrowed to. */
  count(query?: SessionQuery): Promise<SessionCounts>;
  /** @throws {BulkheadError} `not_found`, with `details.deleted_at` and `deleted_by` for a session that was deleted */
  get(sessionId: string, options?: { facts?: boolean }): Promise<SessionSummary>;
  /**
   * Returns the session's grants, its attempts and the programs that were started for it.
   * @throws {BulkheadError} as {@link SessionHost.get}
   */
  history(sessionId: string): Promise<SessionHistory>;
  /**
   * Returns the handle of a session, even a deleted one: a returning reader learns what it missed.
   * @throws {BulkheadError} `not_found` for a session that never existed here
   */
  open(sessionId: string): Promise<SessionHandle>;
  /**
   * Forgets the events of a session that has ended and leaves a tombstone.
   * @throws {BulkheadError} `not_found`, `busy` while it runs
   */
  delete(sessionId: string): Promise<void>;
  agents(options?: AgentsOptions): Promise<AgentReport[]>;
  /**
   * Keeps an image or a file for a request or a message that names it within an hour.
   * @throws {BulkheadError} `too_large`, `limit_exceeded`, `invalid_request` for nothing, `io_error`
   */
  attach(content: AttachedBytes, options?: { client?: string | undefined }): Promise<StoredAttachment>;
  readonly conversations: Conversations;
  /**
   * Adds up what the sessions that have ended used, by day, agent and model, the newest day first.
   * @throws {BulkheadError} `invalid_request` for an unknown time zone
   */
  usage(query?: UsageQuery): Promise<UsageRow[]>;
  /**
   * Returns what the sessions of each budget of bulkhead.yaml have used.
   * @throws {BulkheadError} `journal_error`
   */
  budgets(): Promise<BudgetReport[]>;
  /**
   * Streams all sessions' events merged.
   * @throws {BulkheadError} `invalid_request` for a number that no event has yet: it belongs to another journal
   */
  events(query?: EventQuery): AsyncIterable<Envelope>;
}

/** Changes of sessions in worktrees of their own, for a door that shows them. */
export interface SessionDiffs {
  /** @throws {BulkheadError} `not_found`, `already_exists` once they are applied or discarded, `too_large` */
  diff(sessionId: string): Promise<WorktreeDiff>;
}

/** Options of {@link Host.runSession}. */
export interface RunSessionOptions {
  /**
   * Id of an enabled adapter, a chain of them, or `auto`; absent: what the host manifest says under `routing.agent`.
   * One that is named alone is used without being asked first whether its agent is there.
   */
  adapter?: string | readonly string[] | undefined;
  /**
   * Capabilities that the agent must have. Unless one adapter is named, those under `routing.require` of the host manifest
   * are required as well.
   */
  require?: AgentCapabilities | undefined;
  /** Interrupts the session. */
  signal?: AbortSignal | undefined;
  /** `git`, the default, compares the working directory before and after; `none` saves that time. */
  artifacts?: "git" | "none" | undefined;
  /** Id of the session, if it was promised before; default: a random one. */
  sessionId?: string | undefined;
  /** Name of the caller: where sessions wait, clients take turns. Default: one for all. */
  client?: string | undefined;
  /** Whether the caller may read a session, and so name its attachments. Absent: none but its own uploads. */
  mayRead?: ((sessionId: string) => boolean) | undefined;
}
