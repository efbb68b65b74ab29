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
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { Part } from "../../../plugin-sdk/messages.ts";
import type { SessionSummary } from "../../../plugin-sdk/session-summary.ts";
import type { EventQuery } from "../../../plugin-sdk/queries.ts";
import type {
  Conversations,
  MessageCaller,
  SessionHandle,
  SessionHost,
} from "../../../core/sessions/host/session-host.ts";

/** Conversations of a host in memory: messages wait until a test says what becomes of them. */
export class MemoryConversations implements Conversations {
  readonly #host: Pick<SessionHost, "get" | "open" | "start">;
  /** The sessions of each conversation, and its messages. */
  readonly #chains = new Map<string, { sessions: string[]; messages: MessageReport[] }>();
  /** Calls of `stop`. */
  readonly stops: { id: string; drop_pending: boolean }[] = [];

  constructor(host: Pick<SessionHost, "get" | "open" | "start">) {
    this.#host = host;
  }

  /** Adds a session to a conversation, as a host does by itself. */
  async follow(id: string): Promise<SessionHandle> {
    const { workdir } = await this.#host.get(id);
    const next = await this.#host.start({ workdir, prompt: "next" });
    (await this.#of(id)).sessions.push(next.id);
    return next;
  }

  async say(id: string, message: NewMessage, { client = "", admit }: MessageCaller = {}): Promise<SaidMessage> {
    const { messages, sessions } = await this.#of(id);
    const known = messages.find(({ message_id }) => message_id === message.message_id);
    if (known !== undefined) return said(known);
    let head = sessions.at(-1)!;
    const { state, workdir } = await this.#host.get(head);
    const begins = state === "ended";
    if (begins) {
      const request = { workdir, prompt: "next" };
      head = (await this.#host.start(await admit?.(request) ?? request)).id;
      sessions.push(head);
    }
    const report: MessageReport = {
      message_id: message.message_id ?? `m${messages.length + 1}`,
      session_id: head,
      state: begins ? "delivered" : "pending",
      delivery: message.delivery ?? "queue",
      content: message.content,
      by: { client },
      accepted_at: new Date(0).toISOString(),
      ...(begins ? { turn: sessions.length } : {}),
    };
    messages.push(report);
    return said(report);
  }

  async messages(id: string, { state }: { state?: MessageState } = {}): Promise<MessageReport[]> {
    return (await this.#of(id)).messages.filter((one) => state === undefined || one.state === state);
  }

  async edit(id: string, messageId: string, content: Part[]): Promise<MessageReport> {
    return Object.assign(await this.#pending(id, messageId), { content });
  }

  async withdraw(id: string, messageId: string): Promise<MessageReport> {
    return Object.assign(await this.#pending(id, messageId), { state: "dropped", reason: "withdrawn" });
  }

  async rewind(id: string, { to = 0, dry_run = false }: RewindRequest): Promise<RewindReport> {
    await this.#of(id);
    const nothing = { files: [], conflicts: [], unclaimed: [], left: [], objects_gone: [] };
    const more = { before: "", after: "", undo: false, under_way: null, head_moved: false };
    return { conversation_id: id, to, dry_run, ...nothing, ...more };
  }

  async fork(id: string, { prompt = "" }: ForkRequest, { admit }: MessageCaller = {}): Promise<SessionSummary> {
    const { workdir } = await this.#host.get((await this.#of(id)).sessions.at(-1)!);
    const request = { workdir, prompt };
    return await this.#host.get((await this.#host.start(await admit?.(request) ?? request)).id);
  }

  async turnDiff(id: string, turn: number): Promise<TurnDiff> {
    await this.#of(id);
    return { conversation_id: id, turn, before: "", after: "", taken_back: false, files: [], patch: "" };
  }

  async stop(id: string, { drop_pending = false }: { drop_pending?: boolean } = {}): Promise<void> {
    const { state } = await this.#host.get((await this.#of(id)).sessions.at(-1)!);
    if (state === "ended") throw new BulkheadError("conflict", "No turn runs.");
    this.stops.push({ id, drop_pending });
  }

  async get(id: string): Promise<ConversationReport> {
    const { sessions, messages } = await this.#of(id);
    const shown = await Promise.all(sessions.map((one) => this.#host.get(one)));
    return {
      conversation_id: sessions[0]!,
      state: shown.at(-1)!.state === "ended" ? "ended" : "working",
      head: sessions.at(-1)!,
      turn: sessions.length,
      sessions: shown.map(({ session_id, adapter_id, state }) => ({ session_id, adapter_id, state, why: null })),
      turns: [],
      pending: messages.filter(({ state }) => state === "pending"),
    };
  }

  async *events(id: string, { after = 0, signal }: EventQuery = {}): AsyncGenerator<Envelope, void, void> {
    const { sessions } = await this.#of(id);
    for (let at = 0; at < sessions.length; at++) {
      for await (const envelope of (await this.#host.open(sessions[at]!)).events({ signal })) {
        if (envelope.gseq > after) yield envelope;
        if (envelope.event.type === "session_ended") break;
      }
    }
  }

  /** The conversation that a session is the first or a later one of. */
  firstOf(id: string): string {
    return [...this.#chains.values()].find(({ sessions }) => sessions.includes(id))?.sessions[0] ?? id;
  }

  async #of(id: string): Promise<{ sessions: string[]; messages: MessageReport[] }> {
    await this.#host.get(id);
    const first = this.firstOf(id);
    if (!this.#chains.has(first)) this.#chains.set(first, { sessions: [first], messages: [] });
    return this.#chains.get(first)!;
  }

  async #pending(id: string, messageId: string): Promise<MessageReport> {
    const found = (await this.#of(id)).messages.find(({ message_id }) => message_id === messageId);
    if (found === undefined) throw new BulkheadError("not_found", `There is no message "${messageId}".`);
    if (found.state === "pending") return found;
    throw new BulkheadError("conflict", `The message is ${found.state}.`, { details: { state: found.state } });
  }
}

function said({ message_id, session_id, state, turn }: MessageReport): SaidMessage {
  return { message_id, session_id, state, ...(turn === undefined ? {} : { turn }) };
}
