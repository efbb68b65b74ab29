import { attachmentsOf, type MessageReport } from "../../../../plugin-sdk/conversation.ts";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import type { Part } from "../../../../plugin-sdk/messages.ts";
import { lackedAttachments, takesNone } from "../../session/enforceable.ts";
import type { LiveTalk } from "../../session/session-turns.ts";
import type { LiveSession } from "../live-sessions.ts";
import type { AttachmentStore } from "./attachment-store.ts";
import type { CarriedAttachments } from "./carried-attachments.ts";

/** Checks what messages name, and notes it. */
export type NamingStore = Pick<AttachmentStore, "check" | "name">;

/**
 * Notes that a session that runs names the attachments of a message, if its agent takes them.
 * @throws {BulkheadError} `unenforceable`, `not_found`
 */
export async function nameIn(
  { id, admitted: { request, candidates: [{ plugin }] } }: LiveSession,
  content: readonly Part[],
  { attachments, carried, client }: {
    attachments: Pick<NamingStore, "name">;
    carried: Pick<CarriedAttachments, "keepFor">;
    client?: string;
  },
): Promise<void> {
  const parts = attachmentsOf(content);
  if (parts.length === 0) return;
  const lacked = lackedAttachments(parts, plugin.manifest);
  if (lacked.length > 0 && request.best_effort !== true) throw takesNone(plugin.id, lacked);
  await attachments.name(id, parts, { client });
  carried.keepFor(id, request, parts);
}

/**
 * Changes a pending message, whose attachments are among those that it had: they were checked for its sender.
 * @throws {BulkheadError} `unsupported` for another one; as {@link LiveTalk.edit}
 */
export function editIn(
  talk: LiveTalk,
  { messageId, content }: { messageId: string; content: readonly Part[] },
): MessageReport {
  const known = attachmentsOf(talk.messages.find(({ message_id }) => message_id === messageId)?.content ?? []);
  const kept = content.map((part) => {
    if (part.type === "text") return part;
    const same = known.find((one) => one.sha256 === part.sha256 && one.type === part.type);
    if (same !== undefined) return same;
    throw new BulkheadError("unsupported", "Cannot add an attachment to a message that waits.", {
      hint: "Take the message back, and send another one with the attachment.",
    });
  });
  return talk.edit(messageId, kept);
}
