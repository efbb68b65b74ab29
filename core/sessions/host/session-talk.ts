import type { Part } from "../../../plugin-sdk/messages.ts";
import { type ConversationTurn, type MessageReport, textOf } from "../../../plugin-sdk/conversation.ts";
import type { Envelope, Follows, SessionStartedEvent, TurnStartedEvent } from "../../../plugin-sdk/envelope.ts";
import { hasPrompt, type SessionRequest } from "../../../plugin-sdk/request.ts";
import type { Artifact, SessionResult, UsageReport } from "../../../plugin-sdk/result.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { EarlierTurn } from "../session/admitted.ts";
import { titleOf } from "../../records/journal/session-record.ts";

/** A turn with its texts, for a briefing, and with the agent's own name of it. */
export interface ToldTurn extends ConversationTurn, EarlierTurn {
  agent_ref?: string;
}

/** The part that one session has in its conversation. */
export interface SessionTalk {
  session_id: string;
  /** Without the values of its `env`. */
  requested: SessionRequest;
  follows: Follows | null;
  /** The adapters that could take it, the first choice first. */
  candidates: readonly string[];
  /** The adapter that took it last, and its agent's own id of the session; null where it told none. */
  adapter: string;
  agent_session_id: string | null;
  messages: MessageReport[];
  turns: ToldTurn[];
  /** Null until it has ended. */
  usage: UsageReport | null;
}

/** Returns the id of the conversation that a session belongs to. */
export function conversationIn({ session_id, follows }: Pick<SessionTalk, "session_id" | "follows">): string {
  return follows?.conversation_id ?? session_id;
}

/** Longest text of a turn that is kept for a briefing. */
const mostText = 32_768;

/** Reads a session's part in its conversation from its events; null where its first one is not there. */
export async function readTalk(events: AsyncIterable<Envelope>): Promise<SessionTalk | null> {
  let read: TalkReader | null = null;
  for await (const envelope of events) {
    if (envelope.event.type === "session_started") read = new TalkReader(envelope, envelope.event);
    read?.take(envelope);
  }
  return read?.talk ?? null;
}

/** The message that began a session; null where none did. */
export function firstMessage(
  { session_id, requested: { prompt, content: parts = [] }, follows, at }: {
    session_id: string;
    requested: SessionRequest;
    follows: Follows | null;
    at: string;
  },
): MessageReport | null {
  if (follows?.message === undefined) return null;
  const { message_id, by } = follows.message;
  const content: MessageReport["content"] = [
    ...prompt === "" ? [] : [{ type: "text" as const, text: prompt }],
    ...parts,
  ];
  const where = { turn: follows.turn + 1, how: "new_turn" as const };
  return { message_id, session_id, state: "delivered", delivery: "queue", content, by, accepted_at: at, ...where };
}

class TalkReader {
  readonly talk: SessionTalk;
  readonly #messages = new Map<string, MessageReport>();
  /** A session of one turn has no events of it. */
  readonly #only: ToldTurn;

  constructor({ session_id, ts }: Envelope, { requested, adapter_id, candidates, ...event }: SessionStartedEvent) {
    const follows = event.follows ?? null;
    this.talk = {
      session_id,
      requested,
      follows,
      candidates,
      adapter: adapter_id,
      agent_session_id: null,
      messages: [],
      turns: [],
      usage: null,
    };
    const first = firstMessage({ session_id, requested, follows, at: ts });
    if (first !== null) this.#accept(first);
    const number = (follows?.turn ?? 0) + 1;
    const ids = first === null ? [] : [first.message_id];
    this.#only = turnOf({ number, session_id, by: "client", ids, at: ts }, requested.prompt);
  }

  take({ event, adapter, session_id, ts }: Envelope): void {
    const { talk } = this;
    switch (event.type) {
      case "attempt_started":
        return void Object.assign(talk, { adapter: event.adapter_id, agent_session_id: null });
      case "agent_info":
        if (event.agent_session_id === undefined) return;
        return void Object.assign(talk, { adapter: adapter.id, agent_session_id: event.agent_session_id });
      case "turn_started":
        talk.requested = { ...talk.requested, ...event.with };
        return void talk.turns.push(this.#started(event, { session_id, ts }));
      case "turn_ended": {
        const turn = talk.turns.find((one) => one.turn === event.turn);
        if (turn !== undefined) end(turn, event, ts);
        return;
      }
      case "message_accepted": {
        const { type: _, message_id, delivery, content, by } = event;
        return this.#accept({ message_id, session_id, state: "pending", delivery, content, by, accepted_at: ts });
      }
      case "completed":
        // A session of one turn tells no other event of it.
        return void Object.assign(talk.turns.at(-1) ?? this.#only, omitUndefined({ agent_ref: event.agent_ref }));
      case "session_ended":
        return this.#ended(event.result, ts);
      default:
        return this.#message(event);
    }
  }

  #started(event: TurnStartedEvent, { session_id, ts }: Pick<Envelope, "session_id" | "ts">): ToldTurn {
    const { turn: number, by, message_ids } = event;
    // The first turn's prompt is the request's.
    if (number === this.#only.turn && message_ids.length === 0) return { ...this.#only, by };
    const prompt = message_ids.map((id) => textOf(this.#messages.get(id)?.content ?? [])).join("\n\n");
    return turnOf({ number, session_id, by, ids: message_ids, at: ts }, prompt);
  }

  #ended(result: SessionResult, ts: string): void {
    const { talk } = this;
    talk.usage = result.usage;
    if (talk.turns.length === 0 && hasPrompt(talk.requested)) talk.turns.push(this.#only);
    const last = talk.turns.at(-1);
    if (last !== undefined && last.outcome === null) end(last, result, ts);
  }

  #accept(message: MessageReport): void {
    this.#messages.set(message.message_id, message);
    this.talk.messages.push(message);
  }

  #message(event: Envelope["event"]): void {
    const message = "message_id" in event ? this.#messages.get(event.message_id) : undefined;
    if (message === undefined) return;
    if (event.type === "message_changed") message.content = event.content;
    if (event.type === "message_sent") Object.assign(message, { state: "sent", turn: event.turn });
    if (event.type === "message_delivered") {
      Object.assign(message, { state: "delivered", turn: event.turn, how: event.how });
    }
    if (event.type !== "message_dropped") return;
    Object.assign(message, { state: "dropped", ...omitUndefined({ reason: event.reason, to: event.to }) });
  }
}

function turnOf(
  { number, session_id, by, ids, at }: {
    number: number;
    session_id: string;
    by: ConversationTurn["by"];
    ids: string[];
    at: string;
  },
  prompt: string,
): ToldTurn {
  const end = { outcome: null, stop_reason: null, started_at: at, ended_at: null, output: "", files: [] };
  const shown = { turn: number, session_id, by, title: titleOf(prompt), message_ids: ids };
  return { ...shown, ...end, prompt: prompt.slice(0, mostText) };
}

function end(
  turn: ToldTurn,
  { outcome, stop_reason, output, artifacts }: {
    outcome: string;
    stop_reason: string;
    output: string;
    artifacts: readonly Artifact[] | null;
  },
  at: string,
): void {
  const files = (artifacts ?? []).map(({ path }) => path);
  Object.assign(turn, { outcome, stop_reason, ended_at: at, output: output.slice(0, mostText), files });
}

/** Whether a message has this content, in whatever parts its text is. */
export function isSame({ content }: MessageReport, other: readonly Part[]): boolean {
  const shape = (parts: readonly Part[]) => JSON.stringify(parts, ["type", "text", "sha256", "name", "mime_type"]);
  return shape(content) === shape(other) || textOf(content) === textOf(other) && [...content, ...other].every(isText);
}

/** Whether a part is text. */
function isText({ type }: Part): boolean {
  return type === "text";
}
