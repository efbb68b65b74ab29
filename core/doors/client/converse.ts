import type { ConversationReport, ForkRequest, NewMessage, SaidMessage } from "../../../plugin-sdk/conversation.ts";
import type { Envelope, TurnEndedEvent } from "../../../plugin-sdk/envelope.ts";
import type { EventQuery } from "../../../plugin-sdk/queries.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";

/** A turn that is over. */
export type EndedTurn =
  & Pick<
    TurnEndedEvent,
    "turn" | "outcome" | "stop_reason" | "output" | "structured_output" | "usage" | "artifacts" | "error"
  >
  & { session_id: string };

/** A conversation with an agent, from {@link converse}. */
export interface Conversation {
  readonly id: string;
  /** Gives it a message: a text for the next turn, or one with its delivery. */
  say(message: string | NewMessage): Promise<SaidMessage>;
  /** Streams the events of its sessions; ends when its newest session has ended. Its cursor is `gseq`. */
  events(query?: EventQuery): AsyncIterable<Envelope>;
  /** Streams its turns, each when it is over; ends as the events do. */
  turns(query?: EventQuery): AsyncIterable<EndedTurn>;
  /** Stops the turn under way; the agent goes on with the messages that wait. */
  stop(options?: { drop_pending?: boolean }): Promise<void>;
  /** Begins a new conversation that knows the turns of this one up to `at`, by default all that are over. */
  fork(request?: ForkRequest): Promise<Conversation>;
  /** Ends its newest session, and interrupts a turn under way. A later message begins the next session. */
  end(): Promise<void>;
}

/** The part of a host that a conversation needs: `host.sessions` of a host in this process, or a connected host. */
export interface TalkingHost<O> {
  start(request: SessionRequest, options?: O): Promise<{ readonly id: string }>;
  open(sessionId: string): Promise<{ interrupt(): Promise<unknown> }>;
  readonly conversations: {
    say(id: string, message: NewMessage): Promise<SaidMessage>;
    stop(id: string, options?: { drop_pending?: boolean }): Promise<void>;
    fork(id: string, request: ForkRequest): Promise<{ readonly session_id: string }>;
    get(id: string): Promise<ConversationReport>;
    events(id: string, query?: EventQuery): AsyncIterable<Envelope>;
  };
}

/**
 * Starts a session to talk with its agent over several turns. `keep_ms` of the request keeps the agent's program for the
 * next message; `options` beside its fields are those of a start.
 *
 * ```ts
 * const talk = await converse(host, { workdir: "/project", prompt: "Fix the tests", keep_ms: 900_000 });
 * await talk.say("Leave the parser alone.");
 * for await (const { turn, output } of talk.turns()) console.log(turn, output);
 * ```
 */
export async function converse<O>(
  host: TalkingHost<O>,
  { options, ...request }: SessionRequest & { options?: O },
): Promise<Conversation> {
  const { id } = await host.start(request, options);
  return conversationWith(host, id);
}

function conversationWith<O>(host: TalkingHost<O>, id: string): Conversation {
  const { conversations } = host;
  const events = (query?: EventQuery) => conversations.events(id, query);
  return {
    id,
    say: (message) =>
      conversations.say(
        id,
        typeof message === "string" ? { content: [{ type: "text", text: message }] } : message,
      ),
    events,
    turns: (query) => turnsOf(events(query)),
    stop: (stopping) => conversations.stop(id, stopping),
    fork: async (request = {}) => conversationWith(host, (await conversations.fork(id, request)).session_id),
    async end() {
      const { head, state } = await conversations.get(id);
      if (state !== "ended") await (await host.open(head)).interrupt();
    },
  };
}

/** Reads from events each turn when it is over. A session of one turn has no events of turns but its end. */
export async function* turnsOf(events: AsyncIterable<Envelope>): AsyncGenerator<EndedTurn, void, void> {
  /** The turn under way, of a session whose beginning was read; null between turns. */
  let current: number | null = null;
  for await (const { event, session_id } of events) {
    if (event.type === "session_started") {
      current = event.requested.prompt === "" && !event.requested.content ? null : (event.follows?.turn ?? 0) + 1;
    } else if (event.type === "turn_started") current = event.turn;
    else if (event.type === "turn_ended") {
      current = null;
      yield endedTurn({ turn: event.turn, session_id }, event);
    } else if (event.type === "session_ended" && current !== null) {
      yield endedTurn({ turn: current, session_id }, event.result);
      current = null;
    }
  }
}

function endedTurn(
  { turn, session_id }: { turn: number; session_id: string },
  facts: Omit<TurnEndedEvent, "type" | "turn"> | SessionResult,
): EndedTurn {
  const { outcome, stop_reason, output, structured_output, usage, artifacts, error } = facts;
  return {
    turn,
    session_id,
    outcome,
    stop_reason,
    output,
    usage,
    artifacts,
    ...(structured_output === undefined ? {} : { structured_output }),
    ...(error === undefined ? {} : { error }),
  };
}
