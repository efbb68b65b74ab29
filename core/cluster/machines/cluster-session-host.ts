import type { SessionHost } from "../../sessions/host/session-host.ts";

/** Makes the sessions of a cluster from those of this machine's host, which knows the other machines' already. */
export function clusterSessionHost(
  own: SessionHost,
  { start, events }: Pick<SessionHost, "start" | "events">,
): SessionHost {
  return {
    start,
    list: (query) => own.list(query),
    get: (id) => own.get(id),
    history: (id) => own.history(id),
    open: (id) => own.open(id),
    delete: (id) => own.delete(id),
    agents: (options) => own.agents(options),
    events,
  };
}
