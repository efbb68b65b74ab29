import type { ForkRequest, MessageReport, NewMessage, SaidMessage } from "../../../plugin-sdk/conversation.ts";
import type { Envelope, Follows } from "../../../plugin-sdk/envelope.ts";
import { textOf } from "../../../plugin-sdk/conversation.ts";
import type { EventQuery } from "../../../plugin-sdk/queries.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import { noConversations } from "./no-conversations.ts";
import type { Conversations, MessageCaller, RunSessionOptions } from "../../../core/sessions/host/session-host.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { SessionSummary } from "../../../plugin-sdk/session-summary.ts";
import type { ScriptedSession } from "./scripted-session-host.ts";

interface Host {
  readonly sessions: readonly ScriptedSession[];
  start(request: SessionRequest, options: RunSessionOptions, follows?: Follows): Promise<ScriptedSession>;
  get(id: string): Promise<SessionSummary>;
}

/**
 * Conversations of scripted sessions, each of one turn: a message to one that runs begins the next one at its end, and a
 * steer reaches it at once.
 */
export class ScriptedConversations implements Pick<Conversations, "say" | "stop" | "fork" | "get" | "events"> {
  readonly #host: Host;

  constructor(host: Host) {
    this.#host = host;
  }

  /** All of them, those that a scripted host does not have included. */
  get all(): Conversations {
    return {
      ...noConversations,
      say: (...args) => this.say(...args),
      stop: (id) => this.stop(id),
      fork: (id, request) => this.fork(id, request),
      get: (id) => this.get(id),
      events: (...args) => this.events(...args),
    };
  }

  async say(id: string, message: NewMessage, { client = "" }: MessageCaller = {}): Promise<SaidMessage> {
    const head = this.#chain(id).at(-1)!;
    const { message_id = "m", content, delivery = "queue" } = message;
    if (head.ended !== null) return await this.#begin(head, message, client);
    head.emit({ type: "message_accepted", message_id, delivery, content, by: { client } }, "host");
    if (delivery === "steer") {
      head.emit({ type: "message_delivered", message_id, turn: head.turn, how: "injected" }, "host");
      return { message_id, session_id: head.id, state: "delivered", turn: head.turn };
    }
    void head.result().then(() => this.#begin(this.#chain(id).at(-1)!, message, client));
    return { message_id, session_id: head.id, state: "pending" };
  }

  async stop(id: string): Promise<void> {
    await this.#chain(id).at(-1)!.interrupt();
  }

  async fork(id: string, { prompt = "", traceparent }: ForkRequest): ReturnType<Conversations["fork"]> {
    const head = this.#chain(id).at(-1)!;
    const { labels: _, traceparent: _span, ...request } = head.request;
    const next = await this.#host.start({ ...request, prompt, ...omitUndefined({ traceparent }) }, {
      adapter: head.adapter,
    });
    return await this.#host.get(next.id);
  }

  async get(id: string): ReturnType<Conversations["get"]> {
    const head = this.#chain(id).at(-1)!;
    const state = head.ended === null ? "working" : "ended";
    const pending: MessageReport[] = [];
    return {
      conversation_id: head.conversation,
      state,
      head: head.id,
      turn: head.turn,
      sessions: this.#chain(id).map(({ id: session_id, adapter, ended }) => ({
        session_id,
        adapter_id: adapter,
        state: ended === null ? "running" : "ended",
        why: null,
      })),
      turns: [],
      pending,
    };
  }

  async *events(id: string, { after = 0, signal }: EventQuery = {}): AsyncGenerator<Envelope, void, void> {
    for (let at = 0; at < this.#chain(id).length; at++) {
      const session = this.#chain(id)[at]!;
      for await (const envelope of session.events({ signal })) if (envelope.gseq > after) yield envelope;
    }
  }

  async #begin(
    head: ScriptedSession,
    { message_id = "m", content, traceparent, with: terms = {} }: NewMessage,
    client: string,
  ) {
    if (head.ended === null) await head.result();
    let native: string | undefined;
    for await (const { event } of head.events()) {
      if (event.type === "agent_info") native = event.agent_session_id ?? native;
    }
    const { agent = head.adapter, ...changes } = terms;
    const { labels: _, traceparent: _span, ...asked } = head.request;
    const request = { ...asked, ...omitUndefined({ traceparent }) };
    const remembers = native !== undefined && agent === head.adapter;
    const next = await this.#host.start(
      { ...request, ...changes, prompt: textOf(content), ...(remembers ? { continue_from: native! } : {}) },
      { adapter: agent, client },
      {
        conversation_id: head.conversation,
        session_id: head.id,
        turn: head.turn,
        why: "message",
        memory: remembers ? "agent" : "none",
        message: { message_id, by: { client } },
      },
    );
    return { message_id, session_id: next.id, state: "delivered" as const, turn: next.turn };
  }

  #chain(id: string): ScriptedSession[] {
    const conversation = this.#host.sessions.find((session) => session.id === id)?.conversation ?? id;
    return this.#host.sessions.filter((session) => session.conversation === conversation);
  }
}
