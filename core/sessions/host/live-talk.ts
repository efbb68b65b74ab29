import type { ConversationTurn, MessageReport, NewMessage, SaidMessage } from "../../../plugin-sdk/conversation.ts";
import type { Part } from "../../../plugin-sdk/messages.ts";
import type { RunningSession } from "../session/running-session.ts";

/** A message with its id and its client. */
export type GivenMessage = NewMessage & { message_id: string; by: { client: string } };

/** The turns and messages of a session that runs. */
export interface LiveTalk {
  /** Takes a message in this tick; `closed` once the session has decided to end. */
  say(message: GivenMessage): { said: SaidMessage; written: Promise<void> } | "closed";
  edit(messageId: string, content: Part[]): MessageReport;
  withdraw(messageId: string): MessageReport;
  stopTurn(options: { dropPending: boolean }): void;
  /** The session takes no further message, and ends once none waits and no turn runs. */
  retire(): void;
  readonly messages: MessageReport[];
  readonly all: ConversationTurn[];
  readonly pending: number;
  /** The turn under way; null between turns. */
  readonly current: { number: number } | null;
}

/** Returns the talk of a session; null where it takes no messages. */
export function liveTalkOf({ session }: { session: RunningSession & { talk?: LiveTalk } }): LiveTalk | null {
  return session.talk ?? null;
}

/** Returns what a session that runs does: it works, rests with its agent's program kept, or waits for its first message. */
export function stateOf({ current, all }: Pick<LiveTalk, "current" | "all">): "working" | "kept" | "waiting" {
  if (current !== null) return "working";
  return all.length > 0 ? "kept" : "waiting";
}
