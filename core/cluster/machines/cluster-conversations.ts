import { attachmentsOf, type NewMessage } from "../../../plugin-sdk/conversation.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { type AttachmentPart, contentSchema } from "../../../plugin-sdk/messages.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import { stringOf } from "../../../plugin-sdk/json-fields.ts";
import type { EventQuery } from "../../../plugin-sdk/queries.ts";
import { lazyCheck } from "../../ground/checks/lazy-check.ts";
import { randomId } from "../../ground/platform/files/hash.ts";
import type { Host } from "../../sessions/host/host.ts";
import type { Conversations, MessageCaller, SessionHost } from "../../sessions/host/session-host.ts";
import {
  messageStateSchema,
  newMessageSchema,
  rewindRequestSchema,
} from "../../sessions/session/schemas/conversations.ts";
import type { Engine } from "../engine/engine.ts";
import type { Mirror } from "../log/mirror.ts";
import { askedText, type CallAnswers, type CallAsk, callMachine } from "./calls.ts";
import type { MachineFacts } from "./machine.ts";

interface ClusterConversationsDeps {
  engine: Engine;
  mirrors(): readonly Mirror[];
  /**
   * Puts images and files where another machine can read them.
   * @throws {BulkheadError} as {@link demandCarrier} and `CarriedAttachments.carry`
   */
  carry(parts: readonly AttachmentPart[], to: { machine: string; caller: MessageCaller }): Promise<void>;
}

/** A conversation whose newest session another machine has. */
interface Elsewhere {
  mirror: Mirror;
  conversationId: string;
}

/**
 * The conversations of all machines. One of another machine is asked about there, and its events come from the copy here. A
 * message reaches a session that runs there; the next one begins where the conversation is.
 */
export function clusterConversations(
  own: Pick<SessionHost, "conversations" | "open">,
  { engine, mirrors, carry }: ClusterConversationsDeps,
): Conversations {
  const here = own.conversations;
  const find = async (id: string): Promise<Elsewhere | null> => {
    for (const mirror of mirrors()) {
      const record = await mirror.journal.session(id);
      if (record !== null) return { mirror, conversationId: record.conversation_id };
    }
    return null;
  };
  return {
    async say(id, message, caller = {}) {
      const there = await find(id);
      if (there === null) return await here.say(id, message, caller);
      const parts = attachmentsOf(message.content);
      await carry(parts, { machine: there.mirror.machine, caller });
      // Given once, also where its answer is lost.
      const given: NewMessage = { ...message, message_id: message.message_id ?? randomId() };
      const ask = { session_id: id, message: given, client: caller.client ?? "" };
      const wait = parts.length > 0 ? { timeoutMs: carriedMs } : {};
      return await callMachine(engine, { machine: there.mirror.machine, name: "say", ask, ...wait });
    },
    async messages(id, query = {}) {
      const there = await find(id);
      if (there === null) return await here.messages(id, query);
      const ask = { session_id: id, state: query.state ?? null };
      return await callMachine(engine, { machine: there.mirror.machine, name: "messages", ask });
    },
    async edit(id, messageId, content) {
      const there = await find(id);
      if (there === null) return await here.edit(id, messageId, content);
      const ask = { session_id: id, message_id: messageId, content };
      return await callMachine(engine, { machine: there.mirror.machine, name: "change_message", ask });
    },
    async withdraw(id, messageId) {
      const there = await find(id);
      if (there === null) return await here.withdraw(id, messageId);
      const ask = { session_id: id, message_id: messageId, content: null };
      return await callMachine(engine, { machine: there.mirror.machine, name: "change_message", ask });
    },
    async stop(id, { drop_pending = false } = {}) {
      const there = await find(id);
      if (there === null) return await here.stop(id, { drop_pending });
      const ask = { session_id: id, drop_pending };
      await callMachine(engine, { machine: there.mirror.machine, name: "stop_turn", ask });
    },
    async rewind(id, request, caller = {}) {
      const there = await find(id);
      if (there === null) return await here.rewind(id, request, caller);
      const ask = { session_id: id, rewind: request, client: caller.client ?? "" };
      return await callMachine(engine, { machine: there.mirror.machine, name: "rewind", ask, timeoutMs: rewindMs });
    },
    async fork(id, request, caller) {
      if (await find(id) === null) return await here.fork(id, request, caller);
      throw new BulkheadError("unsupported", "Cannot fork a conversation of another machine.", {
        hint: "Fork it at the machine that has the conversation: bulkhead session show names it.",
      });
    },
    async turnDiff(id, turn) {
      const there = await find(id);
      if (there === null) return await here.turnDiff(id, turn);
      const ask = { session_id: id, turn };
      return await callMachine(engine, { machine: there.mirror.machine, name: "turn_diff", ask, timeoutMs: diffMs });
    },
    async get(id) {
      const there = await find(id);
      if (there === null) return await here.get(id);
      return await callMachine(engine, {
        machine: there.mirror.machine,
        name: "conversation",
        ask: { session_id: id },
      });
    },
    async *events(id, query = {}) {
      const there = await find(id);
      yield* there === null ? here.events(id, query) : eventsOf(own, there, query);
    },
  };
}

/**
 * Refuses images and files for a machine that would not find them.
 * @param facts what the machine has said of itself; null while it is away: a session waits for it
 * @throws {BulkheadError} `unsupported`
 */
export function demandCarrier(facts: MachineFacts | null): void {
  if (facts === null || facts.attachments === true) return;
  const { name, version } = facts;
  throw new BulkheadError(
    "unsupported",
    `Cannot send an image or a file to machine "${name}": it has version ${version}.`,
    {
      hint: "Bring all machines to one version, or put the file into the working directory.",
      details: { machine: name },
    },
  );
}

/** Streams the sessions of another machine's conversation one after the other, as its copy here has them. */
async function* eventsOf(
  own: Pick<SessionHost, "open">,
  { mirror, conversationId: conversation_id }: Elsewhere,
  { after = 0, signal }: EventQuery,
): AsyncGenerator<Envelope, void, void> {
  const read = new Set<string>();
  for (;;) {
    const records = (await mirror.journal.sessions({ conversation_id, limit: mostSessions })).reverse();
    const next = records.find(({ session_id }) => !read.has(session_id));
    if (next === undefined || signal?.aborted) return;
    read.add(next.session_id);
    if (next.state === "ended" && next.last_gseq <= after) continue;
    for await (const envelope of (await own.open(next.session_id)).events(omitUndefined({ signal }))) {
      if (envelope.gseq > after) yield envelope;
    }
  }
}

/** Sessions of one conversation that are read. */
const mostSessions = 10_000;

const isMessage = lazyCheck(newMessageSchema);
const isContent = lazyCheck(contentSchema);
const isState = lazyCheck(messageStateSchema);
const isRewind = lazyCheck(rewindRequestSchema);

/** Longest wait for a message whose images and files the other machine fetches first. Milliseconds. */
const carriedMs = 60_000;
/** Longest wait for a rewind. Milliseconds. */
const rewindMs = 300_000;
/** Longest wait for the diff of a turn. Milliseconds. */
const diffMs = 25_000;

/** Answers other machines about this one's conversations. */
export function talkAnswers(
  { sessions: { conversations }, carried }: Pick<Host, "sessions" | "carried">,
  idOf: (ask: CallAsk) => Promise<string>,
): Pick<CallAnswers, "say" | "messages" | "change_message" | "stop_turn" | "rewind" | "turn_diff" | "conversation"> {
  return {
    say: async (ask) => {
      const id = await idOf(ask);
      const { message } = ask;
      if (!isMessage().Check(message)) {
        throw new BulkheadError("invalid_request", "The message does not fit its schema.");
      }
      const client = askedText(ask, "client");
      await carried.bring(attachmentsOf(message.content), { client });
      return await conversations.say(id, message, { client, admit: refuseSession });
    },
    messages: async (ask) => {
      const { state } = ask;
      return await conversations.messages(await idOf(ask), isState().Check(state) ? { state } : {});
    },
    change_message: async (ask) => {
      const [id, messageId] = [await idOf(ask), askedText(ask, "message_id")];
      const { content } = ask;
      if (content === null) return await conversations.withdraw(id, messageId);
      if (!isContent().Check(content)) {
        throw new BulkheadError("invalid_request", "The content does not fit its schema.");
      }
      return await conversations.edit(id, messageId, content);
    },
    stop_turn: async (ask) => {
      await conversations.stop(await idOf(ask), { drop_pending: ask["drop_pending"] === true });
      return null;
    },
    rewind: async (ask) => {
      const { rewind } = ask;
      if (!isRewind().Check(rewind)) throw new BulkheadError("invalid_request", "The rewind does not fit its schema.");
      const caller = { client: stringOf(ask["client"]) ?? "", admit: refuseSession };
      return await conversations.rewind(await idOf(ask), rewind, caller);
    },
    turn_diff: async (ask) => await conversations.turnDiff(await idOf(ask), Number(ask["turn"])),
    conversation: async (ask) => await conversations.get(await idOf(ask)),
  };
}

/** The asking machine knows what its client may start, and this one does not. */
function refuseSession(): never {
  throw new BulkheadError("unsupported", "Cannot begin the conversation's next session from another machine.", {
    hint: "Say it at the machine that has the conversation: bulkhead session show names it.",
  });
}
