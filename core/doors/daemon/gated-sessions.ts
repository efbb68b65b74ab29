import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { letYoungGenerationGrow } from "../../ground/platform/engine/boot-flags.ts";
import type { SessionHost } from "../../sessions/host/session-host.ts";

/** A host's sessions; once the gate is shut, no more of them start. */
export interface GatedSessions {
  sessions: SessionHost;
  /** Refuses new sessions from now on, with `host_closed`. Running ones go on. */
  shut(): void;
  isShut(): boolean;
  /** Whether no session was started yet. */
  isUnused(): boolean;
}

/** Puts a gate before the start of sessions. */
export function gateSessions(host: SessionHost): GatedSessions {
  let isShut = false;
  let isUnused = true;
  const pass = () => {
    if (isShut) throw shutError();
    letYoungGenerationGrow();
    isUnused = false;
  };
  const { conversations } = host;
  return {
    sessions: {
      ...host,
      start: async (request, options) => {
        pass();
        return await host.start(request, options);
      },
      conversations: {
        // A message may begin a session, and a session that goes on would not end.
        say: async (id, message, caller) => {
          pass();
          return await conversations.say(id, message, caller);
        },
        messages: (id, query) => conversations.messages(id, query),
        edit: (id, messageId, content) => conversations.edit(id, messageId, content),
        withdraw: (id, messageId) => conversations.withdraw(id, messageId),
        stop: (id, options) => conversations.stop(id, options),
        rewind: async (id, request, caller) => {
          pass();
          return await conversations.rewind(id, request, caller);
        },
        fork: async (id, request, caller) => {
          pass();
          return await conversations.fork(id, request, caller);
        },
        turnDiff: (id, turn) => conversations.turnDiff(id, turn),
        get: (id) => conversations.get(id),
        events: (id, query) => conversations.events(id, query),
      },
    },
    shut: () => {
      isShut = true;
    },
    isShut: () => isShut,
    isUnused: () => isUnused,
  };
}

function shutError(): BulkheadError {
  return new BulkheadError("host_closed", "Cannot start a session: the daemon is shutting down.", {
    hint: "Try again when it is up.",
  });
}
