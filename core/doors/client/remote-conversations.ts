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
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { Part } from "../../../plugin-sdk/messages.ts";
import type { SessionSummary } from "../../../plugin-sdk/session-summary.ts";
import { type Api, call, callJson } from "./call-api.ts";
import { followEvents } from "./follow-events.ts";
import { queryText, type RemoteEventQuery } from "./queries.ts";
import { type Patience, retried } from "./retried.ts";

/** Talk with a host's agents. Each id may be that of any session of a conversation. */
export interface RemoteConversations {
  /**
   * Gives a conversation a message; begins its next session where the newest has ended. With a `message_id` a broken
   * connection is retried without giving it twice.
   */
  say(id: string, message: NewMessage): Promise<SaidMessage>;
  /** Lists messages in the order in which they were accepted. */
  messages(id: string, query?: { state?: MessageState }): Promise<MessageReport[]>;
  /** Changes a message that waits; `conflict` with its state for one that waits no more. */
  edit(id: string, messageId: string, content: Part[]): Promise<MessageReport>;
  /** Takes a message back that waits; fails as {@link RemoteConversations.edit}. */
  withdraw(id: string, messageId: string): Promise<MessageReport>;
  /** Stops the turn under way; `conflict` where none runs. */
  stop(id: string, options?: { drop_pending?: boolean }): Promise<void>;
  /** Takes files back to what they were after an earlier turn; `conflict` with the paths in `details.paths`. */
  rewind(id: string, request: RewindRequest): Promise<RewindReport>;
  /**
   * Begins a new conversation that knows the turns up to one of this one; returns its first session. With a `message_id` a
   * broken connection is retried without a second one.
   */
  fork(id: string, request?: ForkRequest): Promise<SessionSummary>;
  /** Compares the files before and after one turn; `not_found` where they were not kept. */
  turnDiff(id: string, turn: number): Promise<TurnDiff>;
  get(id: string): Promise<ConversationReport>;
  /** Streams the events of its sessions one after the other; resumes by itself after the last `gseq` it read. */
  events(id: string, query?: RemoteEventQuery): AsyncIterable<Envelope>;
}

/** The conversations of a host; sends no request yet. */
export function remoteConversations(api: Api, patience: Patience): RemoteConversations {
  const pathOf = (id: string) => `/v1/conversations/${encodeURIComponent(id)}`;
  const messageOf = (id: string, messageId: string) => `${pathOf(id)}/messages/${encodeURIComponent(messageId)}`;
  const given = async <T>(path: string, body: NewMessage | ForkRequest): Promise<T> => {
    const post = () => callJson<T>(api, path, { method: "POST", body });
    return body.message_id === undefined ? await post() : await retried(post, { ...patience, signal: undefined });
  };
  return {
    say: (id, message) => given<SaidMessage>(`${pathOf(id)}/messages`, message),
    messages: async (id, query = {}) =>
      (await callJson<{ messages: MessageReport[] }>(api, `${pathOf(id)}/messages${queryText(query)}`)).messages,
    edit: (id, messageId, content) => callJson(api, messageOf(id, messageId), { method: "PATCH", body: { content } }),
    withdraw: (id, messageId) => callJson(api, messageOf(id, messageId), { method: "DELETE" }),
    stop: async (id, options = {}) => void await call(api, `${pathOf(id)}/stop`, { method: "POST", body: options }),
    rewind: (id, request) => callJson(api, `${pathOf(id)}/rewind`, { method: "POST", body: request }),
    fork: (id, request = {}) => given<SessionSummary>(`${pathOf(id)}/fork`, request),
    turnDiff: (id, turn) => callJson(api, `${pathOf(id)}/turns/${turn}/diff`),
    get: (id) => callJson(api, pathOf(id)),
    events: (id, query = {}) =>
      followEvents({
        api,
        path: `${pathOf(id)}/events`,
        query: { ...query, after: query.after ?? 0 },
        numberOf: ({ gseq }) => gseq,
        // Another session may follow the one that ended: the host says whether the conversation is over.
        isLast: () => false,
        isWhole: ({ event }) => event.type === "session_ended",
        patience,
      }),
  };
}
