import { attachmentsOf } from "../../../../plugin-sdk/conversation.ts";
import type { Envelope } from "../../../../plugin-sdk/envelope.ts";
import { omitUndefined } from "../../../../plugin-sdk/optional-fields.ts";
import type { LiveTalk, SessionMessage } from "../../session/session-turns.ts";
import type { AttachmentStore } from "../attachments/attachment-store.ts";

/** Messages with which a recorded turn began, and how many turns had ended then. */
interface PlayedTurn {
  after: number;
  messages: readonly SessionMessage[];
}

/**
 * Reads the turns of a recorded session that messages began, in their order; or returns why they cannot be played: what came at
 * some moment of a turn would come at another one.
 */
export async function playedTurns(events: AsyncIterable<Envelope>): Promise<PlayedTurn[] | string> {
  const said = new Map<string, SessionMessage>();
  const turns: PlayedTurn[] = [];
  let ended = 0;
  let isStopped = false;
  for await (const { event } of events) {
    switch (event.type) {
      case "message_accepted": {
        const { message_id, content, by, output_schema, with: terms } = event;
        said.set(message_id, { message_id, content, by, ...omitUndefined({ output_schema, with: terms }) });
        break;
      }
      case "message_changed": {
        const message = said.get(event.message_id);
        if (message !== undefined) message.content = event.content;
        break;
      }
      case "message_sent":
        return "a client said words into a running turn";
      case "turn_started": {
        if (event.by === "agent") return "its agent began a turn by itself";
        if (isStopped) return "a client stopped one of its turns";
        const messages = event.message_ids.flatMap((id) => said.get(id) ?? []);
        if (messages.length < event.message_ids.length) return "a message of it is not in the journal any more";
        if (messages.length > 0) turns.push({ after: ended, messages });
        break;
      }
      case "turn_ended":
        ended++;
        isStopped = event.stop_reason === "interrupted";
        break;
      case "gap":
        return "its events are not kept any more";
    }
  }
  return turns;
}

/** A replay that runs. */
export interface PlayedSession {
  id: string;
  talk: Pick<LiveTalk, "say" | "retire">;
}

/** Says the messages of each turn once the one before it is over, and ends the session after the last one. */
export async function playTurns(
  { id, talk }: PlayedSession,
  { turns, events, attachments }: {
    turns: readonly PlayedTurn[];
    /** Of the replay. */
    events: AsyncIterable<Envelope>;
    attachments: Pick<AttachmentStore, "name">;
  },
): Promise<void> {
  const left = [...turns];
  let ended = 0;
  const sayNext = async (): Promise<void> => {
    const next = left[0];
    if (next === undefined) return talk.retire();
    if (next.after > ended) return;
    left.shift();
    await attachments.name(id, next.messages.flatMap(({ content }) => attachmentsOf(content)));
    // Those of one turn are there before it begins.
    for (const message of next.messages) if (talk.say(message) === "closed") return;
  };
  if (left[0]?.after === 0) await sayNext();
  for await (const { event } of events) {
    if (event.type !== "turn_ended") continue;
    ended++;
    await sayNext();
  }
}
