import type { ForkRequest } from "../../../../plugin-sdk/conversation.ts";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import type { SessionTalk } from "../session-talk.ts";
import type { LinePart } from "./turn-line.ts";

/** The turn at which a conversation forks, and the session that it is of. */
interface ForkPoint {
  at: number;
  talk: SessionTalk;
  workspace: "worktree" | "in_place";
}

/**
 * Finds the turn at which a conversation is to fork.
 * @param line from its newest session back
 * @param others its sessions, for turns that a rewind has taken back
 * @throws {BulkheadError} `not_found`, `busy` for a turn that runs, `invalid_request` for a fork in place whose files are not there
 */
export async function forkPoint(
  conversation: string,
  { line, others, request: { at, workspace }, act }: {
    act: "fork" | "rewind";
    line: AsyncIterable<LinePart>;
    others: readonly (SessionTalk | null)[];
    request: ForkRequest;
  },
): Promise<ForkPoint> {
  let newest: ForkPoint["at"] | null = null;
  let found: Pick<ForkPoint, "at" | "talk"> | null = null;
  let oldest: SessionTalk | null = null;
  for await (const { talk, turns } of line) {
    const over = turns.filter(({ outcome }) => outcome !== null);
    newest ??= over.at(-1)?.turn ?? null;
    const turn = at === undefined ? over.at(-1) : turns.find((one) => one.turn === at);
    if (turn !== undefined) found ??= { at: turn.turn, talk };
    if (found !== null && newest !== null) break;
    oldest = talk;
  }
  found ??= amongOthers(others, at) ??
    ((at ?? 0) === 0 && oldest !== null ? { at: 0, talk: oldest } : null);
  if (found === null) {
    const why = at === undefined ? "its events are not kept any more" : `it has no turn ${at}`;
    throw new BulkheadError("not_found", `Cannot ${act} conversation "${conversation}": ${why}.`, {
      hint: `Run: bulkhead session show ${conversation}`,
    });
  }
  refuseRunning(found, act);
  const isInPlace = found.talk.requested.workspace !== "worktree";
  const isHere = isInPlace && found.at === (newest ?? 0);
  if (workspace === "in_place" && !isHere) throw notHere(found.at, { isInPlace });
  return { ...found, workspace: workspace ?? (isHere ? "in_place" : "worktree") };
}

function amongOthers(
  talks: readonly (SessionTalk | null)[],
  at: number | undefined,
): Pick<ForkPoint, "at" | "talk"> | null {
  const talk = talks.find((one) => one?.turns.some(({ turn }) => turn === at));
  return talk == null || at === undefined ? null : { at, talk };
}

function refuseRunning({ at, talk }: Pick<ForkPoint, "at" | "talk">, act: string): void {
  if (talk.turns.find(({ turn }) => turn === at)?.outcome !== null) return;
  throw new BulkheadError("busy", `Cannot ${act} the conversation at turn ${at}: it still runs.`, {
    hint: "Wait for its end, or stop it.",
    details: { session_id: talk.session_id },
  });
}

function notHere(at: number, { isInPlace }: { isInPlace: boolean }): BulkheadError {
  const why = isInPlace ? "the files in the folder are those of later turns" : "its files are in a worktree of its own";
  return new BulkheadError("invalid_request", `Cannot fork the conversation at turn ${at} in place: ${why}.`, {
    hint: "Ask for workspace: worktree (--worktree): it begins with the files as they were after that turn.",
  });
}
