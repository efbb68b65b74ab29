import { BulkheadError } from "./errors.ts";
import type { AttachmentPart, Delivery, Part } from "./messages.ts";
import type { SessionRequest } from "./request.ts";
import type { SessionState } from "./session-summary.ts";

/** A message that a client gives to a conversation. */
export interface NewMessage {
  /** The client's own id, for a call that is repeated; absent: the host makes one. */
  message_id?: string;
  content: Part[];
  /** Default: `queue`. */
  delivery?: Delivery;
  /** Refuses the message unless this turn runs. */
  expected_turn?: number;
  /** JSON Schema for the turn that the message begins. */
  output_schema?: Record<string, unknown>;
  /** Span of the client, as W3C Trace Context writes it. */
  traceparent?: string;
  /**
   * Other terms than those of the session under way: the message begins a session of its own in the conversation. An agent
   * that takes turns, and the field, has another effort or plan from this turn on.
   */
  with?: MessageTerms;
}

/**
 * Terms of the session that a message begins, beside those of the session before it. Of `labels`, `params` and `budget` the
 * other parts stay; a part of `budget` that is not given is what is left of it.
 */
export interface MessageTerms extends
  Omit<
    SessionRequest,
    | "prompt"
    | "content"
    | "workdir"
    | "continue_from"
    | "output_schema"
    | "idempotency_key"
    | "place"
    | "traceparent"
    | "fork"
  > {
  /** Adapter that goes on; default: the one that took the session before. */
  agent?: string;
}

/** State of a message. `delivered`, `dropped`: final. */
export type MessageState = "pending" | "sent" | "delivered" | "dropped";

/** One message of a conversation. */
export interface MessageReport {
  message_id: string;
  /** The session that has it. */
  session_id: string;
  state: MessageState;
  delivery: Delivery;
  content: Part[];
  by: { client: string };
  /** RFC 3339, UTC. */
  accepted_at: string;
  /** The turn that it went into. */
  turn?: number;
  how?: "new_turn" | "injected";
  /** Why it was dropped, and the session that takes it. */
  reason?: string;
  to?: string;
}

/** Answer to a message: where it is. `turn` is the one it went into, or is for. */
export type SaidMessage = Pick<MessageReport, "message_id" | "session_id" | "state" | "turn">;

/** State of a conversation. `kept`: its agent's program waits for a message; `waiting`: no program runs. */
export type ConversationState = "working" | "kept" | "waiting" | "ended";

/** One turn of a conversation. */
export interface ConversationTurn {
  turn: number;
  session_id: string;
  /** `client`, or `agent`: it went on by itself. */
  by: "client" | "agent";
  /** Beginning of the prompt, on one line. */
  title: string;
  message_ids: string[];
  /** Null while it runs. */
  outcome: string | null;
  stop_reason: string | null;
  /** RFC 3339, UTC. */
  started_at: string;
  ended_at: string | null;
}

/** A chain of sessions. Its id is that of the first one. */
export interface ConversationReport {
  conversation_id: string;
  state: ConversationState;
  /** The newest session. */
  head: string;
  /** The turn under way, or the last one. */
  turn: number;
  sessions: { session_id: string; adapter_id: string | null; state: SessionState; why: string | null }[];
  turns: ConversationTurn[];
  /** Messages that wait, in the order in which they are given. */
  pending: MessageReport[];
  /** Only while a turn runs: whether its agent takes words into it. To another one they are the next turn. */
  steers?: boolean;
}

/** A wish to begin a conversation of its own at a turn of another one, which stays as it is. */
export interface ForkRequest {
  /** Last turn that the new conversation's agent knows; 0: none. Default: the newest that is over. */
  at?: number;
  /** Adapter; default: the one of that turn. */
  agent?: string;
  model?: string;
  /**
   * `worktree`: a new one, with the files as they were after that turn; it takes checkpoints. `in_place`: at the newest turn
   * alone, of a conversation that works in place. Default: `in_place` where it can be, else `worktree`.
   */
  workspace?: "worktree" | "in_place";
  /** Default: none. The session ends at once then, and the conversation waits for its first message. */
  prompt?: string;
  /** The client's own id, for a call that is repeated. Of the first message, if there is a prompt. */
  message_id?: string;
  /** Span of the client, as W3C Trace Context writes it. */
  traceparent?: string;
}

/** A wish to take a conversation back to an earlier turn: its files, its talk, or both. */
export interface RewindRequest {
  /** Turn to go back to; 0: to before all turns. One of this and `undo`. */
  to?: number;
  /** Whether the files are then as they were after that turn. Default: true. */
  files?: boolean;
  /**
   * Whether the agent then knows the turns up to that one alone. A session without a turn begins, which the next one goes on from.
   * The turn may be one that was taken back before: so the talk comes back. Default: false.
   */
  talk?: boolean;
  /** Takes the last rewind of files back. The talk stays as it is. */
  undo?: boolean;
  /** Tells what would happen, and does nothing. */
  dry_run?: boolean;
  /** Leaves alone the files that others changed as well, instead of refusing. */
  keep_theirs?: boolean;
  /** Takes back as well what nothing shows to be the agent's. */
  unclaimed?: boolean;
}

/** Everything that a rewind did, or would do. Paths are relative to the working directory. */
export interface RewindReport {
  conversation_id: string;
  to: number;
  undo: boolean;
  dry_run: boolean;
  /** The talk goes on from that turn; absent where only files were to go back. */
  talk?: {
    /** The turns that the agent does not know then. */
    forgets: number[];
    /** The session that it goes on from; null for a dry run. */
    session_id: string | null;
  };
  /** Id of the tree of files before, and after it. Empty where they were to stay. */
  before: string;
  after: string;
  /** `removed`: it was not there before. `brought_back`: it was gone. */
  files: { path: string; change: "restored" | "removed" | "brought_back" }[];
  /** Changed by the agent and by others as well: they stop it, or stay with `keep_theirs`. */
  conflicts: string[];
  /** Changed within turns, by whom nothing shows: they stay. */
  unclaimed: string[];
  /** In repositories within the work tree, or ignored before: they stay. */
  left: string[];
  /** Their contents are no longer kept: they stop it. */
  objects_gone: string[];
  /** Operation of git that is not finished; null for none. */
  under_way: "merge" | "rebase" | "cherry-pick" | "revert" | "bisect" | null;
  /** The turns moved HEAD: commits stay. */
  head_moved: boolean;
}

/**
 * Returns the parts of a message that was given as text or as parts.
 * @throws {BulkheadError} `invalid_request` for both or none
 */
export function partsOf<P extends { type: string }>(
  { text, content }: { text?: string | undefined; content?: P[] | undefined },
): (P | { type: "text"; text: string })[] {
  if (text !== undefined && content === undefined) return [{ type: "text", text }];
  if (text === undefined && content !== undefined) return content;
  throw new BulkheadError("invalid_request", "Cannot read the message: it needs either text or content.");
}

/** Everything that differs between the files before and after one turn. Paths are relative to the working directory. */
export interface TurnDiff {
  conversation_id: string;
  turn: number;
  /** Ids of the trees of files. */
  before: string;
  after: string;
  /** A rewind took the turn back: its changes are not in the files now. */
  taken_back: boolean;
  /** Sorted by path, at most 1,000. `unclaimed`: nothing shows that the agent did it. */
  files: { path: string; change: "created" | "modified" | "deleted"; unclaimed?: true }[];
  /** Changed files that the list leaves out. */
  files_omitted?: number;
  /** To be read, not to be applied: files over 1 MiB are told as binary, and bytes that are not UTF-8 are U+FFFD. */
  patch: string;
  /** The patch has the first files alone, those that fit into 1 MiB. */
  patch_cut?: true;
}

/** Returns the text of a message's content. */
export function textOf(content: readonly Part[]): string {
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");
}

/** Returns the images and files of a message's content. */
export function attachmentsOf(content: readonly Part[]): AttachmentPart[] {
  return content.flatMap((part) => (part.type === "text" ? [] : [part]));
}
