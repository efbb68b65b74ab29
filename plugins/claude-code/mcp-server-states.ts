import { type AdapterEvent, objectsOf, textOf } from "bulkhead/plugin-sdk";

/** States in which a server works, or may yet. */
const fine: ReadonlySet<string> = new Set(["connected", "pending", "disabled"]);

/** Most servers to report: a session has a few. */
const most = 64;

/** Reports MCP servers that the agent has to do without: it tells the model alone. */
export class McpServerStates {
  readonly #told = new Set<string>();

  /** The events for the servers of an `init` message that have failed, each once. */
  failed(servers: unknown): AdapterEvent[] {
    return (Array.isArray(servers) ? objectsOf(servers) : []).flatMap((server): AdapterEvent[] => {
      const [name, state] = [textOf(server["name"]), textOf(server["status"])];
      if (name === undefined || state === undefined || fine.has(state) || this.#told.has(name)) return [];
      if (this.#told.size >= most) return [];
      this.#told.add(name);
      const why = state === "needs-auth"
        ? "it wants a login"
        : `it has ${state === "failed" ? "failed" : `the state ${state}`}`;
      return [{ type: "progress", message: `The agent works without the MCP server "${name}": ${why}.` }];
    });
  }
}
