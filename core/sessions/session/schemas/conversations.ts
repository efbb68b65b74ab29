import { Type } from "@sinclair/typebox";
import type {
  ConversationReport,
  ConversationTurn,
  ForkRequest,
  MessageReport,
  MessageState,
  NewMessage,
  RewindReport,
  RewindRequest,
  SaidMessage,
  TurnDiff,
} from "../../../../plugin-sdk/conversation.ts";
import { contentSchema, deliveries, type Delivery } from "../../../../plugin-sdk/messages.ts";
import { traceparentSchema } from "../../../../plugin-sdk/request.ts";
import { closed, exactly, type SchemaOf } from "../../../../plugin-sdk/schema.ts";
import { termsSchema } from "../../../ground/checks/message-terms.ts";
import { count, maybe, named, oneOf, text } from "./named.ts";

/** {@link MessageState}. */
export const messageStateSchema: SchemaOf<MessageState> = oneOf(["pending", "sent", "delivered", "dropped"] as const);

/** {@link Delivery}. */
export const deliverySchema: SchemaOf<Delivery> = oneOf(deliveries, "default: queue");

const name = Type.String({ minLength: 1, maxLength: 256 });

/** {@link MessageReport}. */
export const messageSchema: SchemaOf<MessageReport> = named(
  "Message",
  exactly<MessageReport>()(Type.Object({
    message_id: text,
    session_id: text,
    state: messageStateSchema,
    delivery: deliverySchema,
    content: contentSchema,
    by: Type.Object({ client: text }),
    accepted_at: text,
    turn: Type.Optional(count),
    how: Type.Optional(oneOf(["new_turn", "injected"] as const)),
    reason: Type.Optional(text),
    to: Type.Optional(text),
  })),
);

/** {@link SaidMessage}. */
export const saidSchema: SchemaOf<SaidMessage> = exactly<SaidMessage>()(Type.Object({
  message_id: text,
  session_id: text,
  state: messageStateSchema,
  turn: Type.Optional(count),
}));

const turnSchema: SchemaOf<ConversationTurn> = exactly<ConversationTurn>()(Type.Object({
  turn: count,
  session_id: text,
  by: oneOf(["client", "agent"] as const),
  title: text,
  message_ids: Type.Array(text),
  outcome: maybe(text),
  stop_reason: maybe(text),
  started_at: text,
  ended_at: maybe(text),
}));

/** {@link ConversationReport}. */
export const conversationSchema: SchemaOf<ConversationReport> = named(
  "Conversation",
  exactly<ConversationReport>()(Type.Object({
    conversation_id: text,
    state: oneOf(["working", "kept", "waiting", "ended"] as const),
    head: text,
    turn: count,
    sessions: Type.Array(Type.Object({
      session_id: text,
      adapter_id: maybe(text),
      state: oneOf(["running", "ended"] as const),
      why: maybe(text),
    })),
    turns: Type.Array(turnSchema),
    pending: Type.Array(messageSchema),
    steers: Type.Optional(Type.Boolean()),
  })),
);

/** {@link ForkRequest}. */
export const forkRequestSchema: SchemaOf<ForkRequest> = exactly<ForkRequest>()(Type.Object({
  at: Type.Optional(Type.Integer({ minimum: 0, description: "last turn that it knows; default: the newest" })),
  agent: Type.Optional(name),
  model: Type.Optional(name),
  workspace: Type.Optional(oneOf(["worktree", "in_place"] as const)),
  prompt: Type.Optional(Type.String({ minLength: 1, maxLength: 16 * 1024 * 1024 })),
  message_id: Type.Optional(name),
  traceparent: Type.Optional(traceparentSchema),
}, closed));

/** {@link RewindRequest}. */
export const rewindRequestSchema: SchemaOf<RewindRequest> = exactly<RewindRequest>()(Type.Object({
  to: Type.Optional(Type.Integer({ minimum: 0, description: "turn to go back to; 0: to before all" })),
  files: Type.Optional(Type.Boolean({ description: "the files are then as they were after it; default: true" })),
  talk: Type.Optional(Type.Boolean({ description: "the agent then knows no later turn; default: false" })),
  undo: Type.Optional(Type.Boolean({ description: "takes the last rewind of files back instead" })),
  dry_run: Type.Optional(Type.Boolean()),
  keep_theirs: Type.Optional(Type.Boolean({ description: "leaves alone what others changed as well" })),
  unclaimed: Type.Optional(Type.Boolean({ description: "takes back as well what nothing shows to be the agent's" })),
}, closed));

/** {@link RewindReport}. */
export const rewindSchema: SchemaOf<RewindReport> = named(
  "Rewind",
  exactly<RewindReport>()(Type.Object({
    conversation_id: text,
    to: count,
    undo: Type.Boolean(),
    dry_run: Type.Boolean(),
    talk: Type.Optional(Type.Object({ forgets: Type.Array(count), session_id: maybe(text) })),
    before: text,
    after: text,
    files: Type.Array(Type.Object({
      path: text,
      change: oneOf(["restored", "removed", "brought_back"] as const),
    })),
    conflicts: Type.Array(text),
    unclaimed: Type.Array(text),
    left: Type.Array(text),
    objects_gone: Type.Array(text),
    under_way: maybe(oneOf(["merge", "rebase", "cherry-pick", "revert", "bisect"] as const)),
    head_moved: Type.Boolean(),
  })),
);

/** {@link TurnDiff}. */
export const turnDiffSchema: SchemaOf<TurnDiff> = named(
  "TurnDiff",
  exactly<TurnDiff>()(Type.Object({
    conversation_id: text,
    turn: count,
    before: text,
    after: text,
    taken_back: Type.Boolean(),
    files: Type.Array(Type.Object({
      path: text,
      change: oneOf(["created", "modified", "deleted"] as const),
      unclaimed: Type.Optional(Type.Literal(true)),
    })),
    files_omitted: Type.Optional(count),
    patch: text,
    patch_cut: Type.Optional(Type.Literal(true)),
  })),
);

/** {@link NewMessage}. Its sizes are limits of the host. */
export const newMessageSchema: SchemaOf<NewMessage> = exactly<NewMessage>()(Type.Object({
  message_id: Type.Optional(name),
  content: contentSchema,
  delivery: Type.Optional(deliverySchema),
  expected_turn: Type.Optional(Type.Integer({ minimum: 1 })),
  output_schema: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  traceparent: Type.Optional(traceparentSchema),
  with: Type.Optional(termsSchema),
}, closed));
