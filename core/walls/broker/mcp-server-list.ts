import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { mcpServerList } from "../../../plugin-sdk/mcp-config.ts";
import type { BrokerScope } from "./operation.ts";

/** A server in the file of a session's MCP servers. */
type Server =
  | { command: string; args: string[]; env: Record<string, string> }
  | { type: "http"; url: string; headers: Record<string, string> };

/**
 * Replaces the stand-in with the session's MCP servers in a message to a program; null for text that is not a JSON
 * object or names no stand-in. The program must be asked for with `demandMcpServers` before it gets the message.
 * @throws {BulkheadError} `unsupported` for a server that the program says it cannot reach
 */
export function placeMcpServers({ options }: Pick<BrokerScope, "options">, text: string): string | null {
  const { mcpConfig } = options;
  if (!mcpConfig || !text.includes(mcpServerList)) return null;
  const message = objectIn(text);
  if (message === null) return null;
  // Written by the host itself, from what its manifest's schema has let through.
  const { mcpServers } = JSON.parse(mcpConfig) as { mcpServers: Record<string, Server> };
  let found = false;
  const filled = JSON.stringify(message, (_key, value: unknown) => {
    if (!isStandIn(value)) return value;
    found = true;
    return listed(mcpServers, value);
  });
  if (!found) return null;
  return text.endsWith("\n") ? `${filled}\n` : filled;
}

function objectIn(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" ? value : null;
  } catch {
    return null;
  }
}

function isStandIn(value: unknown): value is unknown[] {
  return Array.isArray(value) && value[0] === mcpServerList;
}

function listed(servers: Record<string, Server>, ways: readonly unknown[]): object[] {
  return Object.entries(servers).map(([name, server]) => {
    const way = "command" in server ? "command" : "http";
    if (!ways.includes(way)) {
      throw new BulkheadError(
        "unsupported",
        `Cannot give the agent MCP server "${name}": it takes none that are reached by ${way}.`,
        { hint: "Name other servers, or none.", details: { name } },
      );
    }
    if ("command" in server) return { name, command: server.command, args: server.args, env: pairs(server.env) };
    return { type: server.type, name, url: server.url, headers: pairs(server.headers) };
  });
}

function pairs(values: Record<string, string>): { name: string; value: string }[] {
  return Object.entries(values).map(([name, value]) => ({ name, value }));
}
