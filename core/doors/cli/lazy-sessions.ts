import type { SessionHost } from "../../sessions/host/session-host.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";

/** Opens a host at its first use: a door answers its client before that. */
export function lazySessions(open: () => Promise<SessionHost>): SessionHost {
  let opening: Promise<SessionHost> | null = null;
  const opened = (): Promise<SessionHost> => {
    opening ??= open();
    // Try again at the next use: the cause may be fixed by now.
    opening.catch(() => (opening = null));
    return opening;
  };
  return {
    start: async (request, options) => await (await opened()).start(request, options),
    list: async (query) => await (await opened()).list(query),
    get: async (sessionId) => await (await opened()).get(sessionId),
    history: async (sessionId) => await (await opened()).history(sessionId),
    open: async (sessionId) => await (await opened()).open(sessionId),
    delete: async (sessionId) => await (await opened()).delete(sessionId),
    agents: async (options) => await (await opened()).agents(options),
    events: (query) => eventsOf(opened, query),
  };
}

async function* eventsOf(
  opened: () => Promise<SessionHost>,
  query: Parameters<SessionHost["events"]>[0],
): AsyncGenerator<Envelope, void, void> {
  yield* (await opened()).events(query);
}
