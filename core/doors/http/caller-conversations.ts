import { nullIfNotFound } from "../../ground/errors/to-error-data.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { Conversations, SessionHost } from "../../sessions/host/session-host.ts";
import type { Caller } from "./scopes.ts";
import type { SessionOwners } from "./session-owners.ts";
import { demandControl, sees, unknownSession } from "./visible-sessions.ts";

interface CallerConversationsDeps {
  sessions: SessionHost;
  owners: SessionOwners;
  /** Checks, and may narrow, what the caller may start. */
  admit(request: SessionRequest): Promise<SessionRequest>;
}

/**
 * Restricts a host's conversations to those that one caller may see and control. A conversation, and every session in it,
 * belongs to the token that started its first session.
 */
export function callerConversations(
  caller: Caller,
  { sessions, owners, admit }: CallerConversationsDeps,
): Conversations {
  const { conversations } = sessions;
  const client = { client: caller.id, mayRead: (id: string) => sees(caller, id, owners) };
  return {
    async say(id, message) {
      const conversation = await controlled(id);
      // A message to an agent that runs is work in its folder, as a start is.
      await demandFolder(id);
      const said = await conversations.say(id, message, { ...client, admit });
      await inherit(conversation, said.session_id);
      return said;
    },
    async messages(id, query) {
      await seen(id);
      return await conversations.messages(id, query);
    },
    async edit(id, messageId, content) {
      await controlled(id);
      return await conversations.edit(id, messageId, content);
    },
    async withdraw(id, messageId) {
      await controlled(id);
      return await conversations.withdraw(id, messageId);
    },
    async stop(id, options) {
      await controlled(id);
      await conversations.stop(id, options);
    },
    async rewind(id, request) {
      const conversation = await controlled(id);
      // It changes files of the folder, as a session there does.
      await demandFolder(id);
      const report = await conversations.rewind(id, request, { ...client, admit });
      if (report.talk?.session_id != null) await inherit(conversation, report.talk.session_id);
      return report;
    },
    async fork(id, request) {
      await controlled(id);
      // The new conversation is the caller's own, in a folder where it may start one.
      const forked = await conversations.fork(id, request, { ...client, admit });
      await owners.note(forked.session_id, caller);
      return forked;
    },
    async turnDiff(id, turn) {
      await seen(id);
      return await conversations.turnDiff(id, turn);
    },
    async get(id) {
      const conversation = await seen(id);
      const report = await conversations.get(id);
      for (const { session_id } of report.sessions) await inherit(conversation, session_id);
      return report;
    },
    async *events(id, query) {
      const conversation = await seen(id);
      for await (const envelope of conversations.events(id, query)) {
        if (envelope.event.type === "session_started") await inherit(conversation, envelope.session_id);
        yield envelope;
      }
    },
  };

  /** @throws {BulkheadError} `not_found`, as for a conversation that does not exist */
  async function seen(id: string): Promise<string> {
    // The other sessions of a conversation may be there when this one was deleted.
    const summary = await sessions.get(id).catch(nullIfNotFound);
    const conversation = summary?.conversation_id ?? id;
    if (!sees(caller, conversation, owners)) throw unknownSession(id);
    return conversation;
  }

  /**
   * Checks the folder that the conversation's newest session works in; for a worktree, the one that it was asked for.
   * @throws {BulkheadError} `forbidden`
   */
  async function demandFolder(id: string): Promise<void> {
    if (caller.workdirs === undefined) return;
    const { head } = await conversations.get(id);
    let { workdir } = await sessions.get(head);
    for await (const { event } of (await sessions.open(head)).events()) {
      if (event.type === "session_started" && event.effective.workspace === "worktree") ({ workdir } = event.requested);
      break;
    }
    await admit({ workdir, prompt: "" });
  }

  /** @throws {BulkheadError} `not_found`; `forbidden` for a conversation that the caller may only see */
  async function controlled(id: string): Promise<string> {
    const conversation = await seen(id);
    demandControl(caller, conversation, owners);
    return conversation;
  }

  /** Gives a conversation's owner a session that the host may have begun by itself. */
  async function inherit(conversation: string, sessionId: string): Promise<void> {
    const owner = owners.ownerOf(conversation);
    // Without an owner it stays so: a caller that looks at it must not become one.
    if (owner === undefined || owners.ownerOf(sessionId) !== undefined) return;
    await owners.note(sessionId, { ...caller, id: owner });
  }
}
