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
} from "../../../plugin-sdk/conversation.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { Part } from "../../../plugin-sdk/messages.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { EventQuery } from "../../../plugin-sdk/queries.ts";
import type { SessionSummary } from "../../../plugin-sdk/session-summary.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";
import { Turns } from "../../ground/platform/engine/turns.ts";
import { randomId } from "../../ground/platform/files/hash.ts";
import type { SessionRecord } from "../../records/journal/session-record.ts";
import { derivedKey, type KeyedSessions } from "./idempotency.ts";
import { conversationOf, type LiveSession } from "./live-sessions.ts";
import { takesSteers } from "../session/enforceable.ts";
import { type LiveTalk, type SessionMessage, stateOf } from "../session/session-turns.ts";
import type { CarriedAttachments } from "./attachments/carried-attachments.ts";
import { editIn, nameIn, type NamingStore } from "./attachments/name-in.ts";
import { checkOutputSchema } from "./check-request.ts";
import { changesTerms } from "./next-request.ts";
import type { Rewinds } from "./state/rewinds.ts";
import type { RewoundTalks } from "./state/rewound-talks.ts";
import { unknownSession } from "./session-handle.ts";
import type { Conversations, MessageCaller, SessionHandle } from "./session-host.ts";
import { firstMessage, isSame, type SessionTalk } from "./session-talk.ts";
import { KnownTalks } from "./talk/known-talks.ts";
import { NextSessions, type NextSessionsDeps } from "./talk/next-sessions.ts";
import { WholeRewinds } from "./talk/whole-rewinds.ts";
import { MovedMessages, type MovedMessagesDeps } from "./state/moved-messages.ts";

interface ConversationsDeps
  extends Pick<MovedMessagesDeps, "log">, Pick<NextSessionsDeps, "start" | "ownSessions" | "firstOpen" | "shared"> {
  journal: MovedMessagesDeps["journal"] & NextSessionsDeps["journal"];
  /** Returns a session that runs here, by its own id or by that of its conversation. */
  find(id: string): LiveSession | undefined;
  ofConversation(id: string): LiveSession | undefined;
  /** Returns what is known of a session, also of other hosts and deleted ones; null for an unknown one. */
  record(id: string): Promise<SessionRecord | null>;
  /** Returns the sessions of a conversation that were not deleted, the newest first. */
  records(conversationId: string): Promise<SessionRecord[]>;
  open(sessionId: string): Promise<SessionHandle>;
  attachments: NamingStore;
  carried: Pick<CarriedAttachments, "keepFor">;
  /** Starts a session once for every call with its key. */
  once: KeyedSessions["run"];
  summary(sessionId: string): Promise<SessionSummary>;
  rewinds: Pick<Rewinds, "rewind" | "turnDiff" | "rest" | "hasRewound">;
  /** Rewinds of files and talk that are not done. */
  rewound: RewoundTalks;
  /** Resolves once the events so far are durable. */
  written(): Promise<void>;
  writeLog(record: LogRecord): void;
}

/** The conversations of one host: chains of its sessions, as their journal tells them. */
export class LocalConversations implements Conversations {
  readonly #deps: ConversationsDeps;
  /** Messages of one conversation are taken one after the other. */
  readonly #orders = new Turns(1);
  /** Messages between two sessions. */
  readonly moved: MovedMessages;
  readonly #talks: KnownTalks;
  readonly #next: NextSessions;
  readonly #rewinds: WholeRewinds;

  /** @param left sessions whose messages were not all taken when their host was killed */
  constructor(deps: ConversationsDeps, left: readonly string[] = []) {
    this.#deps = deps;
    this.#talks = new KnownTalks(deps);
    const recordsOf = (id: string) => this.#records(id);
    this.#next = new NextSessions({ ...deps, talks: this.#talks, recordsOf });
    const { rewinds: files, rewound: listed } = deps;
    this.#rewinds = new WholeRewinds({ ...deps, files, listed, next: this.#next, recordsOf });
    this.moved = new MovedMessages({
      ...deps,
      events: async (id) => (await deps.open(id)).events(),
      messages: async (id) => (await this.#told(id)).messages,
      inOrder: (conversation, act) => this.#inOrder(conversation, act),
      hasBegun: async (id) => await deps.record(id) !== null,
      give: async (conversation, message, sessionId) => {
        if (sessionId !== undefined) await this.#begin(conversation, message, { caller: message.by, sessionId });
        else await (await this.#say(conversation, message, { caller: message.by, isRepeatable: false })).written;
      },
    }, left);
  }

  async say(id: string, message: NewMessage, caller: MessageCaller = {}): Promise<SaidMessage> {
    const conversation = await this.#find(id);
    if (message.output_schema !== undefined) checkOutputSchema(message.output_schema);
    const content = await this.#deps.attachments.check(message.content, caller);
    const by = { client: caller.client ?? "" };
    const given = { ...message, content, message_id: message.message_id ?? randomId(), by };
    const isRepeatable = message.message_id !== undefined;
    const { said, written } = await this.#inOrder(
      conversation,
      () => this.#say(conversation, given, { caller, isRepeatable }),
    );
    await written;
    return said;
  }

  async messages(id: string, { state }: { state?: MessageState } = {}): Promise<MessageReport[]> {
    const { messages } = await this.#told(await this.#find(id));
    return messages.filter((one) => state === undefined || one.state === state);
  }

  edit(id: string, messageId: string, content: Part[]): Promise<MessageReport> {
    return this.#change(id, { messageId, act: "change" }, (talk) => editIn(talk, { messageId, content }));
  }

  withdraw(id: string, messageId: string): Promise<MessageReport> {
    return this.#change(id, { messageId, act: "withdraw" }, (talk) => talk.withdraw(messageId));
  }

  async stop(id: string, { drop_pending: dropPending = false }: { drop_pending?: boolean } = {}): Promise<void> {
    const conversation = await this.#find(id);
    const live = this.#deps.ofConversation(conversation);
    const talk = live?.session.talk;
    if (talk === undefined || talk.current === null) {
      throw new BulkheadError("conflict", `Cannot stop conversation "${conversation}": no turn runs.`);
    }
    talk.stopTurn({ dropPending });
  }

  async get(id: string): Promise<ConversationReport> {
    const conversation = await this.#find(id);
    const { records, talks, turns, messages } = await this.#told(conversation);
    const head = records.at(-1) ?? unknownSession(id);
    const live = this.#deps.find(head.session_id);
    const working = live === undefined ? "working" : stateOf(live.session.talk);
    const isMoving = records.some(({ session_id }) => this.moved.waitsFor(session_id));
    // Its next session may have begun while these were read.
    if (head.state === "ended" && !isMoving && (await this.#records(conversation)).length > records.length) {
      return await this.get(id);
    }
    return {
      conversation_id: conversation,
      state: head.state !== "ended" ? working : isMoving ? "waiting" : "ended",
      head: head.session_id,
      turn: turns.at(-1)?.turn ?? head.last_turn,
      sessions: records.map(({ session_id, adapter_id, state }, at) => ({
        session_id,
        adapter_id,
        state,
        why: talks[at]?.follows?.why ?? null,
      })),
      turns,
      pending: messages.filter(({ state }) => state === "pending"),
      ...(live?.session.talk.current == null ? {} : { steers: takesSteers(live.admitted, head.adapter_id) }),
    };
  }

  async rewind(id: string, request: RewindRequest, caller: MessageCaller = {}): Promise<RewindReport> {
    const conversation = await this.#find(id);
    const report = await this.#inOrder(conversation, () => this.#rewinds.rewind(conversation, request, caller));
    await this.#deps.written();
    return report;
  }

  /** Finishes the rewinds that a killed host left. Never rejects. */
  finishRewinds(): Promise<void> {
    return this.#rewinds.finishLeft((conversation, act) => this.#inOrder(conversation, act));
  }

  async fork(id: string, request: ForkRequest, caller: MessageCaller = {}): Promise<SessionSummary> {
    const conversation = await this.#find(id);
    // A repeated call may have another span.
    const { message_id, traceparent: _span, ...wish } = request;
    const key = message_id === undefined ? {} : { idempotency_key: derivedKey(message_id, `fork of ${conversation}`) };
    // Another call of the same fork is the same session, also where the newest turn is another one meanwhile.
    const named = { workdir: conversation, prompt: JSON.stringify(wish, Object.keys(wish).sort()), ...key };
    const session = await this.#deps.once(
      named,
      omitUndefined({ client: caller.client }),
      (begins) =>
        this.#inOrder(
          conversation,
          async () => await this.#deps.open(await this.#next.fork(conversation, request, { caller, begins })),
        ),
    );
    await this.#deps.written();
    return await this.#deps.summary(session.id);
  }

  async turnDiff(id: string, turn: number): Promise<TurnDiff> {
    return await this.#deps.rewinds.turnDiff(await this.#find(id), turn);
  }

  async *events(id: string, { after = 0, signal }: EventQuery = {}): AsyncGenerator<Envelope, void, void> {
    const conversation = await this.#find(id);
    const read = new Set<string>();
    for (;;) {
      // Messages that one of them has moved begin the next one.
      if ([...read].some((one) => this.moved.waitsFor(one))) await this.#inOrder(conversation, () => Promise.resolve());
      const next = (await this.#records(conversation)).find(({ session_id }) => !read.has(session_id));
      if (next === undefined || signal?.aborted) return;
      read.add(next.session_id);
      if (next.state === "ended" && next.last_gseq <= after) continue;
      for await (const envelope of (await this.#deps.open(next.session_id)).events(omitUndefined({ signal }))) {
        if (envelope.gseq > after) yield envelope;
      }
    }
  }

  /** Runs an act on a conversation once those before it are over. */
  async #inOrder<T>(conversation: string, act: () => Promise<T>): Promise<T> {
    return await this.#orders.take(conversation, act);
  }

  async #begin(...message: Parameters<NextSessions["begin"]>): Promise<SaidMessage> {
    const said = await this.#next.begin(...message);
    await this.#deps.written();
    return said;
  }

  async #say(
    conversation: string,
    message: SessionMessage,
    { caller, isRepeatable }: { caller: MessageCaller; isRepeatable: boolean },
  ): Promise<{ said: SaidMessage; written?: Promise<void> }> {
    await this.#rewinds.finish(conversation);
    for (;;) {
      const live = this.#deps.ofConversation(conversation);
      const known = isRepeatable ? await this.#knownMessage(conversation, message) : null;
      if (known !== null) return { said: known };
      // One that has ended meanwhile may have had it: its log tells.
      if (this.#deps.ofConversation(conversation) !== live) continue;
      if (live === undefined) {
        // Those that a former session left stand before it.
        await this.moved.take(conversation);
        if (this.#deps.ofConversation(conversation) === undefined) break;
        continue;
      }
      const { talk } = live.session;
      const isOther = changesTerms(live, message.with);
      if (!isOther) await nameIn(live, message.content, { ...this.#deps, ...caller });
      const said = isOther ? endFor(talk, message) : talk.say(message);
      if (said !== "closed") return said;
      // What it gives is in its log: the next one goes on from there.
      await live.result.catch(() => {});
      await this.moved.take(conversation);
    }
    return { said: await this.#begin(conversation, message, { caller }) };
  }

  /**
   * Returns where a message is that was given before; null for a new one.
   * @throws {BulkheadError} `idempotency_conflict` for an id of another message
   */
  async #knownMessage(conversation: string, { message_id, content }: SessionMessage): Promise<SaidMessage | null> {
    const live = this.#deps.ofConversation(conversation);
    const first = live === undefined ? null : begunBy(live);
    const ended = (await this.#records(conversation)).filter(({ session_id }) => session_id !== live?.id);
    const talks = await Promise.all(ended.map((record) => this.#talks.ended(record)));
    const all = [...talks.flatMap((talk) => talk?.messages ?? []), ...(first === null ? [] : [first])];
    const known = all.findLast((one) => one.message_id === message_id);
    // The session that runs completes it, and knows the content that was given first.
    if (known === undefined || known.reason === "moved" && live !== undefined) return null;
    if (!isSame(known, content)) {
      throw new BulkheadError("idempotency_conflict", `The message id "${message_id}" was used for another message.`, {
        hint: "Send the very same message again, or choose a new id.",
        details: { message_id },
      });
    }
    const { session_id, state, turn } = known;
    return { message_id, session_id, state, ...omitUndefined({ turn }) };
  }

  async #change(
    id: string,
    { messageId, act }: { messageId: string; act: string },
    change: (talk: LiveTalk) => MessageReport,
  ): Promise<MessageReport> {
    const conversation = await this.#find(id);
    const live = this.#deps.ofConversation(conversation);
    const talk = live?.session.talk;
    if (talk?.messages.some(({ message_id }) => message_id === messageId)) {
      const changed = change(talk);
      await this.#deps.written();
      return changed;
    }
    const { messages } = await this.#told(conversation);
    const known = messages.find(({ message_id }) => message_id === messageId);
    const sentence = `Cannot ${act} message "${messageId}"`;
    if (known === undefined) throw new BulkheadError("not_found", `${sentence}: the conversation has none of that id.`);
    const { state, turn, reason, to } = known;
    throw new BulkheadError("conflict", `${sentence}: it is ${state}.`, {
      details: { state, ...omitUndefined({ turn, reason, to }) },
    });
  }

  /** Returns the id of a session's conversation. */
  async #find(id: string): Promise<string> {
    const live = this.#deps.find(id) ?? this.#deps.ofConversation(id);
    if (live !== undefined) return conversationOf(live);
    await this.#deps.written();
    const record = await this.#deps.record(id);
    if (record !== null && record.deleted === null) return record.conversation_id;
    const conversation = record?.conversation_id ?? id;
    // Its other sessions may be there when the one is not.
    return (await this.#deps.records(conversation)).length > 0 ? conversation : unknownSession(id);
  }

  /** Returns the sessions of a conversation, in their order. */
  async #records(conversation: string): Promise<SessionRecord[]> {
    // One that has just begun is in it only then.
    await this.#deps.written();
    return (await this.#deps.records(conversation)).reverse();
  }

  /** Returns what a conversation's sessions tell, in their order. */
  async #told(conversation: string): Promise<{
    records: SessionRecord[];
    talks: (Pick<SessionTalk, "follows"> | null)[];
    turns: ConversationTurn[];
    messages: MessageReport[];
  }> {
    const records = await this.#records(conversation);
    const talks = await Promise.all(records.map((record) => this.#shownTalk(record)));
    const messages = new Map<string, MessageReport>();
    // A message that has moved stands where it was accepted, with its last state.
    for (const talk of talks) for (const one of talk?.messages ?? []) messages.set(one.message_id, one);
    return { records, talks, turns: talks.flatMap((talk) => talk?.turns ?? []), messages: [...messages.values()] };
  }

  async #shownTalk(
    record: SessionRecord,
  ): Promise<Pick<SessionTalk, "follows" | "messages"> & { turns: ConversationTurn[] } | null> {
    const live = this.#deps.find(record.session_id);
    if (live === undefined) {
      const talk = await this.#talks.ended(record);
      return talk && { ...talk, turns: talk.turns.map(shownTurn) };
    }
    const first = begunBy(live);
    const { messages, all } = live.session.talk;
    const [begun, ...later] = all;
    // The session does not know the message that began it.
    const turns = begun === undefined || first === null || begun.turn !== first.turn
      ? all
      : [{ ...begun, message_ids: [first.message_id] }, ...later];
    const { follows = null } = live.admitted;
    return { follows, messages: first === null ? messages : [first, ...messages], turns };
  }
}

function shownTurn({ prompt: _prompt, output: _output, files: _files, ...turn }: SessionTalk["turns"][number]) {
  return turn;
}

function begunBy({ id, admitted: { request, follows = null } }: LiveSession): MessageReport | null {
  const at = new Date().toISOString();
  return firstMessage({ session_id: id, requested: request, follows, at });
}

/** Ends a session in order for a message that it cannot take: those before it come first, unless it interrupts. */
function endFor(talk: LiveTalk, { delivery }: SessionMessage): "closed" {
  if (delivery === "interrupt" && talk.current !== null) talk.stopTurn({ dropPending: false });
  talk.retire();
  return "closed";
}
