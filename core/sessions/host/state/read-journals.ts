import type { Envelope } from "../../../../plugin-sdk/envelope.ts";
import type { JournalReader } from "../../../records/journal/journal-reader.ts";
import type { SessionRecord } from "../../../records/journal/session-record.ts";

const pageSize = 100;

/** Reads the sessions of a conversation that a journal has, the newest first. */
export async function* sessionsIn(
  reader: JournalReader,
  conversation_id: string,
): AsyncGenerator<SessionRecord, void, void> {
  let before: SessionRecord | undefined;
  do {
    const page = await reader.sessions({ conversation_id, before, limit: pageSize });
    yield* page;
    before = page.length < pageSize ? undefined : page.at(-1);
  } while (before !== undefined);
}

/** Reads the events of a session that a journal has at the moment, and waits for none. */
export async function* eventsIn(
  reader: JournalReader,
  { session_id: sessionId }: Pick<SessionRecord, "session_id">,
): AsyncGenerator<Envelope, void, void> {
  for (let after = 0;;) {
    const page = await reader.read({ after, sessionId, skipDamaged: true });
    yield* page;
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.gseq;
  }
}
