import type { McpServer as EditorServer } from "@agentclientprotocol/sdk";
import type { McpServer } from "../../ground/config/mcp-server.ts";
import { oneLine } from "../../sessions/host/event-sentence.ts";

/** Servers that an editor brings along: those that the operator has granted, and a sentence on the others. */
interface EditorServers {
  /** Names under which the host manifest registers them. */
  names: string[];
  /** Null where all are granted. */
  refusal: string | null;
}

/**
 * Finds which of an editor's servers the operator has granted: a server that the host manifest registers under the same
 * name, with the same command line or address. It runs as registered: the editor's variables and headers are not used.
 */
export function grantedServers(
  servers: readonly EditorServer[],
  registered: Readonly<Record<string, McpServer>>,
): EditorServers {
  const isGranted = (server: EditorServer) =>
    Object.hasOwn(registered, server.name) && isSame(server, registered[server.name]!);
  const refused = servers.filter((server) => !isGranted(server));
  return {
    names: [...new Set(servers.filter(isGranted).map(({ name }) => name))],
    refusal: refused.length === 0 ? null : refusalOf(refused),
  };
}

function isSame(server: EditorServer, registered: McpServer): boolean {
  if ("command" in server) {
    return "command" in registered && server.command === registered.command &&
      JSON.stringify(server.args) === JSON.stringify(registered.args ?? []);
  }
  return server.type === "http" && "url" in registered && server.url === registered.url;
}

/** Names what a person adds to the host manifest. Values of variables and headers may be secrets: they stay out. */
function refusalOf(servers: readonly EditorServer[]): string {
  const entries = servers.flatMap((server): [string, object][] => {
    if ("command" in server) return [[server.name, { command: server.command, args: server.args }]];
    return server.type === "http" ? [[server.name, { url: server.url }]] : [];
  });
  const names = servers.map(({ name }) => oneLine(name)).join(", ");
  const grant = entries.length === 0
    ? "Servers with events over HTTP are not supported."
    : `To grant them, add to bulkhead.yaml: mcp_servers: ${oneLine(JSON.stringify(Object.fromEntries(entries)))}`;
  return `The editor's MCP servers are not used (${names}): you have not granted them. ${grant}`;
}
