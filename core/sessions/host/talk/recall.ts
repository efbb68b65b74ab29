import type { Memory } from "../../../../plugin-sdk/envelope.ts";
import type { SessionRequest } from "../../../../plugin-sdk/request.ts";
import type { SessionTalk, ToldTurn } from "../session-talk.ts";
import type { RecalledTurns } from "./candidate-requests.ts";
import type { LinePart } from "./turn-line.ts";

/** How an agent goes on with sessions of its own. */
export interface OwnSessions {
  /** Whether it goes on with one at all. */
  continues: boolean;
  /** Whether it copies one: as a whole, or up to a turn. */
  copies: boolean;
  copiesAt: boolean;
}

/** How the next session's agent comes to know the turns before it. */
interface Recalled extends RecalledTurns {
  memory: Memory;
  /** The agent's own session, and whether to copy it. */
  request: Pick<SessionRequest, "continue_from" | "fork">;
  /** The session of the last of these turns; null for none. */
  last: SessionTalk | null;
}

interface RecallOptions {
  adapter: string;
  own: OwnSessions;
  /** Whether the last turn is the newest of the conversation that goes on: the agent's session is then used, and not copied. */
  isNewest(part: LinePart): boolean;
  /** Whether a later session has gone on with the agent's own session of this one. */
  isUsed(talk: SessionTalk): Promise<boolean>;
  /** Whether the agent works in the folder of the last turn: agents find their sessions by that. */
  isSameFolder: boolean;
}

/**
 * Decides how an agent comes to know a line of turns: by its own session, which no two sessions ever use, by a copy that it makes
 * of it, or by a briefing.
 */
export async function recall(line: () => AsyncIterable<LinePart>, options: RecallOptions): Promise<Recalled> {
  const turns: ToldTurn[] = [];
  let last: SessionTalk | null = null;
  for await (const part of line()) {
    if (last === null && part.turns.length > 0) {
      last = part.talk;
      const request = await ownSession(part, options);
      if (request !== null) return { memory: "agent", request, earlier: [], instead: () => turnsOf(line()), last };
    }
    turns.unshift(...part.turns);
  }
  return { memory: turns.length === 0 ? "none" : "briefing", request: {}, earlier: turns, instead: null, last };
}

async function turnsOf(line: AsyncIterable<LinePart>): Promise<ToldTurn[]> {
  const turns: ToldTurn[] = [];
  for await (const part of line) turns.unshift(...part.turns);
  return turns;
}

/** The agent's own session with exactly these turns; null where it has none, or cannot be asked for it. */
async function ownSession(
  part: LinePart,
  { adapter, own, isNewest, isUsed, isSameFolder }: RecallOptions,
): Promise<Recalled["request"] | null> {
  const { talk, turns } = part;
  const { agent_session_id: continue_from } = talk;
  if (talk.adapter !== adapter || !own.continues || continue_from === null || continue_from.length > 256) return null;
  if (isNewest(part)) return { continue_from };
  const { turn, agent_ref } = turns.at(-1)!;
  if (!own.copies || !isSameFolder) return null;
  if (own.copiesAt && agent_ref !== undefined) return { continue_from, fork: { at: agent_ref } };
  const isWhole = talk.turns.at(-1)?.turn === turn && !await isUsed(talk);
  return isWhole ? { continue_from, fork: {} } : null;
}
