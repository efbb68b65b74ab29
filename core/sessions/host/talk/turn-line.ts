import type { SessionRecord } from "../../../records/journal/session-record.ts";
import type { SessionTalk, ToldTurn } from "../session-talk.ts";
import type { KnownTalks } from "./known-talks.ts";

/** A session on the line of turns that its next one goes on from, with those of its turns that are on it. */
export interface LinePart {
  talk: SessionTalk;
  turns: readonly ToldTurn[];
}

interface TurnLineDeps {
  talks: Pick<KnownTalks, "soFar">;
  /** Returns what is known of a session, also of a deleted one; null for an unknown one. */
  record(id: string): Promise<SessionRecord | null>;
}

/** A place in a conversation: the end of a turn of a session, or of the whole session. */
interface LineEnd {
  session_id: string;
  turn?: number;
}

/**
 * Walks back from the end of a session, or of a turn, through all that it goes on from, the newest first: without the turns that a rewind of the
 * talk has taken back, and on into the conversation that this one was forked from. Leaves out sessions whose events are gone.
 */
export async function* turnLine(
  { session_id, turn: end = Infinity }: LineEnd,
  { talks, record }: TurnLineDeps,
): AsyncGenerator<LinePart, void, void> {
  const seen = new Set<string>();
  let next: string | null = session_id;
  let upTo = end;
  while (next !== null && !seen.has(next)) {
    seen.add(next);
    const known: SessionRecord | null = await record(next);
    if (known === null) return;
    const talk: SessionTalk | null = known.deleted === null ? await talks.soFar(known) : null;
    if (talk !== null) yield { talk, turns: talk.turns.filter(({ turn }) => turn <= upTo) };
    // Of a session that a rewind began, this is the turn that it goes back to.
    upTo = Math.min(upTo, talk === null ? known.last_turn : talk.follows?.turn ?? 0);
    next = talk === null ? known.follows_session : talk.follows?.session_id ?? null;
  }
}
