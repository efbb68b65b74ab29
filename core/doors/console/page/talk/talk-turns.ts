import { attachmentsOf, textOf } from "../../../../../plugin-sdk/conversation.ts";
import type { Follows } from "../../../../../plugin-sdk/envelope.ts";
import type { AttachmentPart, Delivery, Part } from "../../../../../plugin-sdk/messages.ts";
import type { Artifact, Outcome, SessionResult, StopReason, UsageReport } from "../../../../../plugin-sdk/result.ts";
import type { ShownEvent } from "../shown-event.ts";

/** One turn with the numbers of its events, as its session's events tell it. */
export interface ShownTurn {
  turn: number;
  session_id: string;
  /** `seq` of its first event; the session's beginning for its first turn. */
  from: number;
  /** `seq` of its last event; null for a session's last turn, which has all that follows. */
  to: number | null;
  /** `agent`: it went on by itself. */
  by: "client" | "agent";
  prompt: string;
  /** Images and files of the prompt. */
  attached: readonly AttachmentPart[];
  /** Name of the client that gave the prompt; null where no message did. */
  client: string | null;
  /** Null while it runs. */
  outcome: Outcome | null;
  stop_reason: StopReason | null;
  started_at: string;
  ended_at: string | null;
  usage: UsageReport | null;
  /** Null while it runs. */
  files: ChangedFiles | null;
}

/** Files that differ after a turn, as git shows them. */
export interface ChangedFiles {
  artifacts: Artifact[] | null;
  reason: string | undefined;
  omitted: number | undefined;
  /** Whether the host keeps the files before and after it, so that they can be compared and taken back. */
  isKept: boolean;
}

/** A message as the events of a session tell it. */
export interface ShownMessage {
  text: string;
  attached: readonly AttachmentPart[];
  client: string;
  delivery: Delivery;
  state: "pending" | "sent" | "delivered" | "dropped";
  /** The turn that has it. */
  turn: number | null;
  accepted_at: string;
}

/** A session's part of a conversation. */
export interface SessionPart {
  session_id: string;
  follows: Follows | null;
  /** The first candidate of the session. */
  adapter: string;
  turns: ShownTurn[];
  /** `seq` of the newest of the events that it was read from. */
  last: number;
}

/** Types of the events that {@link readPart} reads. */
export const talkTypes: ReadonlySet<string> = new Set([
  "session_started",
  "turn_started",
  "turn_ended",
  "session_ended",
  "message_accepted",
  "message_changed",
  "message_sent",
  "message",
  "message_delivered",
  "message_dropped",
]);

/**
 * Reads a session's turns and messages from those of its events that have a type of {@link talkTypes}, in their order; null
 * where its first one is not there.
 */
export function readPart(events: readonly ShownEvent[], messages: Map<string, ShownMessage>): SessionPart | null {
  let reader: PartReader | null = null;
  for (const envelope of events) {
    if (envelope.event.type === "session_started") reader = new PartReader(envelope, messages);
    else reader?.take(envelope);
  }
  if (reader === null) return null;
  return { ...reader.part, last: events.at(-1)?.seq ?? 1 };
}

class PartReader {
  readonly part: SessionPart;
  readonly #messages: Map<string, ShownMessage>;
  /** A session of one turn has no events of it. */
  #isTold = false;

  constructor({ session_id, event, ts }: ShownEvent, messages: Map<string, ShownMessage>) {
    if (event.type !== "session_started") throw new Error("A session's part begins with its first event.");
    const { adapter_id: adapter, follows = null, requested: { prompt, content = [] } } = event;
    const attached = attachmentsOf(content);
    this.#messages = messages;
    const number = (follows?.turn ?? 0) + 1;
    const client = follows?.message?.by.client ?? null;
    if (client !== null) {
      const state = { state: "delivered" as const, turn: number, accepted_at: ts };
      messages.set(follows?.message?.message_id ?? "", { text: prompt, attached, client, delivery: "queue", ...state });
    }
    const first = turnOf({ session_id, ts, seq: 1 }, { turn: number, by: "client", prompt, attached, client });
    const isSaid = prompt !== "" || attached.length > 0;
    this.part = { session_id, follows, adapter, turns: isSaid ? [first] : [], last: 1 };
  }

  take({ event, seq, ts, session_id }: ShownEvent): void {
    const { turns } = this.part;
    switch (event.type) {
      case "turn_started": {
        const { turn, by, message_ids } = event;
        // The first turn's prompt is the request's.
        if (!this.#isTold && turns[0]?.turn === turn) turns[0].by = by;
        else this.#begin(turnOf({ session_id, ts, seq }, { turn, by, ...this.#said(message_ids) }));
        this.#isTold = true;
        return;
      }
      case "turn_ended": {
        const { turn, outcome, stop_reason, usage } = event;
        const ended = turns.find((one) => one.turn === turn);
        const known = { outcome, stop_reason, usage, ended_at: ts, files: filesOf(event) };
        if (ended !== undefined) Object.assign(ended, known);
        return;
      }
      case "session_ended": {
        const last = turns.at(-1);
        const { outcome, stop_reason, usage } = event.result;
        if (last === undefined || last.outcome !== null) return;
        return void Object.assign(last, {
          outcome,
          stop_reason,
          ended_at: ts,
          ...(turns.length === 1 ? { usage, files: filesOf(event.result) } : {}),
        });
      }
      case "message_accepted": {
        const { message_id, content, delivery, by: { client } } = event;
        const state = { state: "pending" as const, turn: null, accepted_at: ts };
        return void this.#messages.set(message_id, { ...wordsOf(content), client, delivery, ...state });
      }
    }
    const message = "message_id" in event ? this.#messages.get(event.message_id) : undefined;
    if (message === undefined) return;
    if (event.type === "message_changed") Object.assign(message, wordsOf(event.content));
    if (event.type === "message_sent") message.state = "sent";
    if (event.type === "message" && event.state === "returned" && message.state === "sent") message.state = "pending";
    if (event.type === "message_delivered") Object.assign(message, { state: "delivered", turn: event.turn });
    if (event.type === "message_dropped") message.state = "dropped";
  }

  #begin(turn: ShownTurn): void {
    const before = this.part.turns.at(-1);
    if (before !== undefined) before.to = turn.from - 1;
    else turn.from = 1;
    this.part.turns.push(turn);
  }

  #said(ids: readonly string[]): Pick<ShownTurn, "prompt" | "attached" | "client"> {
    const said = ids.flatMap((id) => this.#messages.get(id) ?? []);
    return {
      prompt: said.map(({ text }) => text).filter((text) => text !== "").join("\n\n"),
      attached: said.flatMap(({ attached }) => attached),
      client: said[0]?.client ?? null,
    };
  }
}

function wordsOf(content: readonly Part[]): Pick<ShownMessage, "text" | "attached"> {
  return { text: textOf(content), attached: attachmentsOf(content) };
}

function filesOf(
  { artifacts, artifacts_reason: reason, artifacts_omitted: omitted, checkpoint = null }: Pick<
    SessionResult,
    "artifacts" | "artifacts_reason" | "artifacts_omitted" | "checkpoint"
  >,
): ChangedFiles {
  return { artifacts, reason, omitted, isKept: checkpoint !== null };
}

function turnOf(
  { session_id, ts, seq }: Pick<ShownEvent, "session_id" | "ts" | "seq">,
  said: Pick<ShownTurn, "turn" | "by" | "prompt" | "attached" | "client">,
): ShownTurn {
  const open = { to: null, outcome: null, stop_reason: null, ended_at: null, usage: null, files: null };
  return { ...said, session_id, from: seq, started_at: ts, ...open };
}
