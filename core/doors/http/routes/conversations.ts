import { type Static, Type } from "@sinclair/typebox";
import {
  type ForkRequest,
  type MessageState,
  type MessageTerms,
  partsOf,
  type RewindRequest,
} from "../../../../plugin-sdk/conversation.ts";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { contentSchema, type Delivery, type Part } from "../../../../plugin-sdk/messages.ts";
import { omitUndefined } from "../../../../plugin-sdk/optional-fields.ts";
import { closed, type SchemaOf } from "../../../../plugin-sdk/schema.ts";
import { traceparentSchema } from "../../../../plugin-sdk/request.ts";
import { termsSchema } from "../../../ground/checks/message-terms.ts";
import { readTraceparent } from "../../../ground/checks/trace-context.ts";
import { type ApiRoute, json, ok, route } from "../route.ts";
import {
  conversationSchema,
  deliverySchema,
  forkRequestSchema,
  messageSchema,
  messageStateSchema,
  rewindRequestSchema,
  rewindSchema,
  saidSchema,
  turnDiffSchema,
} from "../../../sessions/session/schemas/conversations.ts";
import { named } from "../../../sessions/session/schemas/named.ts";
import { sessionSummarySchema } from "../schemas/sessions.ts";
import { readKey } from "./sessions.ts";

/** Words of a message: one of the two. */
interface Words {
  text?: string | undefined;
  content?: Part[] | undefined;
}

/** The body of a message. */
interface SayBody extends Words {
  message_id?: string;
  delivery?: Delivery;
  expected_turn?: number;
  output_schema?: Record<string, unknown>;
  traceparent?: string;
  with?: MessageTerms;
}

const wordFields = {
  text: Type.Optional(Type.String({ minLength: 1, maxLength: 16 * 1024 * 1024 })),
  content: Type.Optional(contentSchema),
};

const sayBody: SchemaOf<SayBody> = named(
  "NewMessage",
  Type.Unsafe<SayBody>(Type.Object({
    ...wordFields,
    message_id: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
    delivery: Type.Optional(deliverySchema),
    expected_turn: Type.Optional(Type.Integer({ minimum: 1, description: "refuses it unless this turn runs" })),
    output_schema: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    traceparent: Type.Optional(traceparentSchema),
    with: Type.Optional(termsSchema),
  }, closed)),
);

const editBody: SchemaOf<Words> = Type.Unsafe<Words>(Type.Object(wordFields, closed));

const listQuery: SchemaOf<{ state?: MessageState }> = Type.Unsafe<{ state?: MessageState }>(
  Type.Object({ state: Type.Optional(messageStateSchema) }, closed),
);

const stopBody = Type.Object({
  drop_pending: Type.Optional(Type.Boolean({ description: "true: drops the messages that wait, too" })),
}, closed);

/** Routes to talk with an agent over several turns. An id may be that of any session of the conversation. */
export const conversationRoutes: readonly ApiRoute[] = [
  route({
    id: "sayMessage",
    at: "POST /v1/conversations/{id}/messages",
    summary: "give a message to a conversation",
    scope: "run",
    heads: [
      { name: "Idempotency-Key", summary: "its message_id: the same message with the same id is given once" },
      { name: "traceparent", summary: "the client's span, as W3C Trace Context writes it" },
    ],
    body: sayBody,
    answers: { 202: { summary: "it is kept, and reaches the agent or is dropped", schema: saidSchema } },
    async handle({ params, body: { text, content, message_id, ...message }, headers, sessions }) {
      const key = readKey(headers.get("idempotency-key"), { inBody: message_id, name: "message_id" });
      const said = await sessions.conversations.say(params["id"] ?? "", {
        ...omitUndefined({ traceparent: readTraceparent(headers.get("traceparent")) }),
        ...message,
        content: partsOf({ text, content }),
        ...omitUndefined({ message_id: key }),
      });
      return json(said, { status: 202 });
    },
  }),
  route({
    id: "listMessages",
    at: "GET /v1/conversations/{id}/messages",
    summary: "list a conversation's messages in the order in which they came",
    scope: "own",
    query: listQuery,
    answers: ok("the messages", Type.Object({ messages: Type.Array(messageSchema) })),
    handle: async ({ params, query, sessions }) =>
      json({ messages: await sessions.conversations.messages(params["id"] ?? "", query) }),
  }),
  route({
    id: "editMessage",
    at: "PATCH /v1/conversations/{id}/messages/{message_id}",
    summary: "change a message that waits; it keeps its place",
    scope: "run",
    body: editBody,
    answers: ok("the message", messageSchema),
    handle: async ({ params: { id = "", message_id = "" }, body, sessions }) =>
      json(await sessions.conversations.edit(id, message_id, partsOf(body))),
  }),
  route({
    id: "withdrawMessage",
    at: "DELETE /v1/conversations/{id}/messages/{message_id}",
    summary: "take back a message that waits",
    scope: "run",
    answers: ok("the message, which is dropped", messageSchema),
    handle: async ({ params: { id = "", message_id = "" }, sessions }) =>
      json(await sessions.conversations.withdraw(id, message_id)),
  }),
  route({
    id: "getConversation",
    at: "GET /v1/conversations/{id}",
    summary: "show a conversation: its sessions, its turns and the messages that wait",
    scope: "own",
    answers: ok("the conversation", conversationSchema),
    handle: async ({ params, sessions }) => json(await sessions.conversations.get(params["id"] ?? "")),
  }),
  route<unknown, RewindRequest>({
    id: "rewindConversation",
    at: "POST /v1/conversations/{id}/rewind",
    summary: "take a conversation back to an earlier turn: its files, its talk, or both",
    scope: "run",
    body: rewindRequestSchema,
    answers: ok("what it did, or with dry_run would do", rewindSchema),
    handle: async ({ params, body, sessions }) => json(await sessions.conversations.rewind(params["id"] ?? "", body)),
  }),
  route<unknown, ForkRequest>({
    id: "forkConversation",
    at: "POST /v1/conversations/{id}/fork",
    summary: "begin a new conversation that knows this one up to a turn",
    scope: "run",
    heads: [
      { name: "Idempotency-Key", summary: "its message_id: the same fork with the same id is made once" },
      { name: "traceparent", summary: "the client's span, as W3C Trace Context writes it" },
    ],
    body: forkRequestSchema,
    answers: { 201: { summary: "its first session; Location is where it is", schema: sessionSummarySchema } },
    async handle({ params, body: { message_id, ...fork }, headers, sessions }) {
      const key = readKey(headers.get("idempotency-key"), { inBody: message_id, name: "message_id" });
      const traceparent = readTraceparent(headers.get("traceparent"));
      const asked = { ...omitUndefined({ traceparent }), ...fork, ...omitUndefined({ message_id: key }) };
      const { session_id } = await sessions.conversations.fork(params["id"] ?? "", asked);
      const location = `/v1/sessions/${encodeURIComponent(session_id)}`;
      return json(await sessions.get(session_id), { status: 201, headers: { location } });
    },
  }),
  route({
    id: "diffTurn",
    at: "GET /v1/conversations/{id}/turns/{turn}/diff",
    summary: "show what one turn changed, where its files were kept",
    scope: "own",
    answers: ok("its files, and their patch to read", turnDiffSchema),
    async handle({ params: { id = "", turn = "" }, sessions }) {
      if (!/^[1-9][0-9]{0,8}$/.test(turn)) {
        throw new BulkheadError(
          "invalid_request",
          `Cannot show turn "${turn}": turns have the numbers 1, 2 and so on.`,
        );
      }
      return json(await sessions.conversations.turnDiff(id, Number(turn)));
    },
  }),
  route<unknown, Static<typeof stopBody>>({
    id: "stopTurn",
    at: "POST /v1/conversations/{id}/stop",
    summary: "stop the turn under way; the session goes on with the messages that wait",
    scope: "run",
    body: stopBody,
    answers: { 202: { summary: "it is being stopped; its events tell when it has ended" } },
    async handle({ params, body, sessions }) {
      await sessions.conversations.stop(params["id"] ?? "", body);
      return new Response(null, { status: 202 });
    },
  }),
];
