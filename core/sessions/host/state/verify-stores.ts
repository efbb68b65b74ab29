import { countOf, fieldsOrNone, stringOf } from "../../../../plugin-sdk/json-fields.ts";
import type { Envelope } from "../../../../plugin-sdk/envelope.ts";
import { realpath } from "../../../ground/platform/files/files.ts";
import { folderOf, keptConversations, storesIn } from "../../../records/checkpoints/store-place.ts";
import { type JournalTurn, type StoreFault, verifyCheckpoints } from "../../../records/checkpoints/verify-store.ts";
import { type JournalReader, openJournalReader } from "../../../records/journal/journal-reader.ts";
import type { SessionRecord } from "../../../records/journal/session-record.ts";
import { eventsIn, sessionsIn } from "./read-journals.ts";
import type { StateJournal } from "./state-journals.ts";

/** Result of the check of one conversation's checkpoints. */
export interface StoreReport {
  conversation_id: string;
  folder: string;
  /** Turns whose files a journal names. */
  turns: number;
  /** Whether a journal knows the conversation. */
  is_known: boolean;
  faults: StoreFault[];
}

/** Time for the packs of one store. Milliseconds. */
const timeoutMs = 600_000;

/**
 * Checks the checkpoints of a state folder against the events of its journals, one conversation after the other. Hosts
 * may be at work in it.
 * @throws {BulkheadError} `journal_error`, `git_missing`, `timeout`
 */
export async function* verifyStores(
  stateDir: string,
  journals: readonly StateJournal[],
): AsyncGenerator<StoreReport, void, void> {
  const folder = storesIn(stateDir);
  const conversations = await keptConversations(folder);
  if (conversations.length === 0) return;
  const readers: JournalReader[] = [];
  try {
    for (const { file } of journals) readers.push(await openJournalReader(file));
    for (const conversation of conversations) {
      const place = { folder, conversation };
      const { turns, isKnown } = await turnsOf(conversation, readers);
      const check = () => verifyCheckpoints({ ...place, turns, timeoutMs });
      let faults = await check();
      // A host may have written meanwhile: a fault that stays is one.
      if (faults.length > 0) faults = await check();
      yield { conversation_id: conversation, folder: folderOf(place), turns: turns.length, is_known: isKnown, faults };
    }
  } finally {
    for (const reader of readers) reader.close();
  }
}

/** The newest turns of a conversation of which the journals name the files; older ones are in no store. */
async function turnsOf(
  conversation_id: string,
  readers: readonly JournalReader[],
): Promise<{ turns: JournalTurn[]; isKnown: boolean }> {
  let turns: JournalTurn[] = [];
  let isKnown = false;
  for (const reader of readers) {
    for await (const session of sessionsIn(reader, conversation_id)) {
      isKnown = true;
      turns = [...await turnsIn(session, reader), ...turns].sort((one, other) => one.turn - other.turn)
        .slice(-mostTurns);
    }
  }
  return { turns, isKnown };
}

/** More than any store keeps. */
const mostTurns = 1000;

async function turnsIn(session: SessionRecord, reader: JournalReader): Promise<JournalTurn[]> {
  const turns: JournalTurn[] = [];
  const workdir = await realpath(session.workdir).catch(() => session.workdir);
  let current = 1;
  for await (const { event } of eventsIn(reader, session)) {
    if (event.type === "session_started") current = (event.follows?.turn ?? 0) + 1;
    if (event.type === "turn_started") current = event.turn;
    const ended = endOf(event, current);
    if (ended !== null && !turns.some(({ turn }) => turn === ended.turn)) turns.push({ ...ended, workdir });
    if (turns.length > mostTurns) turns.shift();
  }
  return turns;
}

/** The turn that an event ends, and its tree; a session of one turn tells it in its result alone. */
function endOf(event: Envelope["event"], current: number): { turn: number; after: string } | null {
  const { turn = current, checkpoint } = fieldsOrNone(
    event.type === "turn_ended" ? event : event.type === "session_ended" ? event.result : null,
  );
  const [number, after] = [countOf(turn), stringOf(checkpoint)];
  return number === null || after === null ? null : { turn: number, after };
}
