/** Entries of agents in a file. */
export interface AcpEntries {
  entries: readonly unknown[];
  /** Whether it is a list of them, of which each is taken by itself. */
  isList: boolean;
}

/**
 * Finds the entries of agents in JSON: one `agent.json`, the registry as it is served (`{agents: [...]}`), or a list or
 * map of entries. Null where there are none.
 */
export function acpEntries(value: object): AcpEntries | null {
  if ("distribution" in value) return { entries: [value], isList: false };
  const held = "agents" in value ? value.agents : value;
  if (Array.isArray(held)) return { entries: held, isList: true };
  if (typeof held !== "object" || held === null) return null;
  const entries: [string, unknown][] = Object.entries(held);
  if (entries.length === 0 || !entries.every(([, one]) => isEntry(one))) return null;
  return { entries: entries.map(([id, one]) => ({ id, ...(one as object) })), isList: true };
}

function isEntry(value: unknown): boolean {
  return typeof value === "object" && value !== null && "distribution" in value;
}
