import type { SessionDiffs, SessionHost } from "../../sessions/host/session-host.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";

/** Sessions of a host and their changes. */
interface DoorSessions {
  sessions: SessionHost;
  workspaces: SessionDiffs;
}

/** Opens a host at its first use: a door answers its client before that. */
export function lazySessions(open: () => Promise<DoorSessions>): DoorSessions {
  let opening: Promise<DoorSessions> | null = null;
  const openedOnce = (): Promise<DoorSessions> => {
    opening ??= open();
    // Try again at the next use: the cause may be fixed by now.
    opening.catch(() => (opening = null));
    return opening;
  };
  const opened = async () => (await openedOnce()).sessions;
  const sessions: SessionHost = {
    start: async (request, options) => await (await opened()).start(request, options),
    list: async (query) => await (await opened()).list(query),
    get: async (sessionId) => await (await opened()).get(sessionId),
    history: async (sessionId) => await (await opened()).history(sessionId),
    open: async (sessionId) => await (await opened()).open(sessionId),
    delete: async (sessionId) => await (await opened()).delete(sessionId),
    agents: async (options) => await (await opened()).agents(options),
    events: (query) => eventsOf(opened, query),
  };
  return { sessions, workspaces: { diff: async (sessionId) => await (await openedOnce()).workspaces.diff(sessionId) } };
}

async function* eventsOf(
  opened: () => Promise<SessionHost>,
  query: Parameters<SessionHost["events"]>[0],
): AsyncGenerator<Envelope, void, void> {
  yield* (await opened()).events(query);
}
