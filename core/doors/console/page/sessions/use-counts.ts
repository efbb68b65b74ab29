import type { SessionCounts } from "../../../../../plugin-sdk/queries.ts";
import { useConsole } from "../console-context.ts";
import { useLoaded } from "../parts.tsx";

/** Counts of the sessions that match a query, over all of the host's; null until they are read. */
export function useCounts(query: Record<string, string | number | boolean> = {}): SessionCounts | null {
  const { api } = useConsole();
  const [loaded] = useLoaded(
    (signal) => api.get<SessionCounts>("/v1/sessions/counts", query, signal),
    [JSON.stringify(query)],
  );
  return loaded !== undefined && "value" in loaded ? loaded.value : null;
}
