import { attachmentsOf, type NewMessage } from "../../../plugin-sdk/conversation.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { type AttachmentPart, contentSchema } from "../../../plugin-sdk/messages.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { EventQuery } from "../../../plugin-sdk/queries.ts";
import { lazyCheck } from "../../ground/checks/lazy-check.ts";
import { sleep } from "../../ground/platform/engine/wait.ts";
import { randomId } from "../../ground/platform/files/hash.ts";
import type { Host } from "../../sessions/host/host.ts";
import type { Conversations, MessageCaller, SessionHost } from "../../sessions/host/session-host.ts";
import {
  forkRequestSchema,
  messageStateSchema,
  newMessageSchema,
  rewindRequestSchema,
} from "../../sessions/session/schemas/conversations.ts";
import type { Engine } from "../engine/engine.ts";
import type { Mirror } from "../log/mirror.ts";
import { admittedElsewhere, askAdmitted, refusedSession } from "./admissions.ts";
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
  own: Pick<SessionHost, "conversations" | "open" | "get">,
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
      const { machine } = there.mirror;
      const ask = { session_id: id, rewind: request, client: caller.client ?? "" };
      return await askAdmitted(
        (admitted) => callMachine(engine, { machine, name: "rewind", ask: { ...ask, admitted }, timeoutMs: beginMs }),
        { machine, caller },
      );
    },
    async fork(id, request, caller = {}) {
      const there = await find(id);
      if (there === null) return await here.fork(id, request, caller);
      const { machine } = there.mirror;
      // Made once, also where its answer is lost.
      const fork = { ...request, message_id: request.message_id ?? randomId() };
      const ask = { session_id: id, fork, client: caller.client ?? "" };
      const { session_id } = await askAdmitted(
        (admitted) => callMachine(engine, { machine, name: "fork", ask: { ...ask, admitted }, timeoutMs: beginMs }),
        { machine, caller },
      );
      await demandCopy(there.mirror, session_id);
      return await own.get(session_id);
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

/**
 * Waits until a session that has begun on another machine is in its copy here.
 * @throws {BulkheadError} `unavailable`
 */
async function demandCopy({ machine, journal }: Mirror, session_id: string): Promise<void> {
  for (const end = performance.now() + copiedMs; await journal.session(session_id) === null;) {
    if (performance.now() > end) {
      throw new BulkheadError(
        "unavailable",
        `Cannot show session "${session_id}": machine "${machine}" has only begun it.`,
        {
          hint: "It is in the list in a moment: bulkhead session list.",
          details: { machine, session_id },
        },
      );
    }
    await sleep(lookEveryMs);
  }
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
const isFork = lazyCheck(forkRequestSchema);

/** Longest wait for a message whose images and files the other machine fetches first. Milliseconds. */
const carriedMs = 60_000;
/** Longest wait for a rewind, or for a fork to begin. Milliseconds. */
const beginMs = 300_000;
/** Longest wait for a session's beginning to be copied, and how often it is looked for. Milliseconds. */
const copiedMs = 20_000;
const lookEveryMs = 25;
/** Longest wait for the diff of a turn. Milliseconds. */
const diffMs = 25_000;

/** Answers other machines about this one's conversations. */
export function talkAnswers(
  { sessions: { conversations }, carried }: Pick<Host, "sessions" | "carried">,
  idOf: (ask: CallAsk) => Promise<string>,
): Pick<
  CallAnswers,
  "say" | "messages" | "change_message" | "stop_turn" | "rewind" | "fork" | "turn_diff" | "conversation"
> {
  return {
    say: async (ask) => {
      const id = await idOf(ask);
      const { message } = ask;
      if (!isMessage().Check(message)) {
        throw new BulkheadError("invalid_request", "The message does not fit its schema.");
      }
      const client = askedText(ask, "client");
      await carried.bring(attachmentsOf(message.content), { client });
      return await conversations.say(id, message, {
        client,
        admit: () => {
          throw refusedSession();
        },
      });
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
      const id = await idOf(ask);
      return await admittedElsewhere(ask, (caller) => conversations.rewind(id, rewind, caller));
    },
    fork: async (ask) => {
      const { fork } = ask;
      if (!isFork().Check(fork)) throw new BulkheadError("invalid_request", "The fork does not fit its schema.");
      const id = await idOf(ask);
      return await admittedElsewhere(ask, async (caller) => {
        const { session_id } = await conversations.fork(id, fork, caller);
        return { session_id };
      });
    },
    turn_diff: async (ask) => await conversations.turnDiff(await idOf(ask), Number(ask["turn"])),
    conversation: async (ask) => await conversations.get(await idOf(ask)),
  };
}
