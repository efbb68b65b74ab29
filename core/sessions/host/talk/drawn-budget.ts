import type { Envelope, Follows } from "../../../../plugin-sdk/envelope.ts";
import type { SessionFilter, SessionRecord } from "../../../records/journal/session-record.ts";
import type { Journal } from "../../../records/journal/journal.ts";
import { sessionPages } from "../../../records/journal/read-page.ts";
import { readInterrupted } from "../../session/interrupted-session.ts";
import {
  type KnownUse,
  minus,
  most,
  nothing,
  plus,
  type SharedBudgets,
  type Sums,
} from "../../session/spend/shared-budgets.ts";

/** Collaborators of {@link drawnBudget}. */
export interface DrawnDeps {
  journal: Pick<Journal, "read" | "session" | "sessions">;
  shared: Pick<SharedBudgets, "used">;
}

/** A session from which another one takes over what is left of its budget. */
interface Before {
  session_id: string;
  follows: Pick<Follows, "budget"> | null;
  used: KnownUse;
}

/** Use of a session's budget since that session began. */
export interface Drawn {
  used: Sums;
  /** For the session that goes on with what is left. */
  budget: NonNullable<Follows["budget"]>;
}

/** Returns what was used of a session's budget: by itself, by those that went on from it, and by forks. */
export async function drawnBudget({ session_id, follows, used }: Before, deps: DrawnDeps): Promise<Drawn> {
  const { of, ...before } = follows?.budget ?? { of: session_id, ...nothing };
  const own = { cost: used.cost ?? 0, tokens: used.tokens ?? 0 };
  // A host that was killed may have lost the journal's end, and not what the session itself has told.
  const all = most(deps.shared.used(of) ?? await sumOf(of, deps), plus(before, own));
  return { used: minus(all, before), budget: { of, ...all } };
}

/** Sessions that are read in one go. */
const pageSize = 500;

/** Adds up what the journal has of the sessions that draw on a budget. */
async function sumOf(of: string, { journal }: DrawnDeps): Promise<Sums> {
  const first = await journal.session(of);
  if (first === null) return nothing;
  const forks = await allOf(journal, { is_fork: true, since: first.started_at });
  let sums = nothing;
  const conversations = new Set([first.conversation_id]);
  for (const conversation_id of conversations) {
    const sessions = await allOf(journal, { conversation_id });
    const ids = new Set(sessions.map(({ session_id }) => session_id));
    for (const fork of forks) {
      if (fork.follows_session !== null && ids.has(fork.follows_session)) conversations.add(fork.conversation_id);
    }
    for (const record of sessions) {
      const { budgetOf, used } = await readInterrupted(eventsOf(journal, record), 0);
      if (record.session_id !== of && budgetOf !== of) continue;
      sums = plus(sums, { cost: used.cost ?? 0, tokens: used.tokens ?? 0 });
    }
  }
  return sums;
}

async function allOf(
  journal: DrawnDeps["journal"],
  wanted: Omit<SessionFilter, "limit">,
): Promise<SessionRecord[]> {
  const page = await journal.sessions({ ...wanted, limit: pageSize });
  return page.length < pageSize ? page : [...page, ...await allOf(journal, { ...wanted, before: page.at(-1) })];
}

/** Reads a session's events: of one that has ended its first and its last one alone, which say all that counts here. */
async function* eventsOf(
  journal: DrawnDeps["journal"],
  { session_id: sessionId, state, first_gseq, last_gseq }: SessionRecord,
): AsyncIterable<readonly Envelope[]> {
  if (state === "running") return yield* sessionPages(journal, sessionId, { skipDamaged: true });
  for (const gseq of [first_gseq, last_gseq]) {
    yield await journal.read({ after: gseq - 1, sessionId, limit: 1, skipDamaged: true });
  }
}
