import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { fillReferences, type McpServer, secretReferences } from "../../ground/config/mcp-server.ts";
import { hostEnv } from "../../ground/platform/engine/platform.ts";
import type { OpenedSecrets } from "./session-secrets.ts";

interface McpServerDeps {
  registered: Readonly<Record<string, McpServer>>;
  openSecrets(permissions: { secrets: { name: string }[] }): Promise<OpenedSecrets>;
}

interface SessionMcpServers {
  /** Text of the file that the agent reads; null for a session that has none. */
  config: string | null;
  /** The secrets that the text contains. */
  secrets: ReadonlyMap<string, string>;
}

/**
 * Writes the servers that a request names as a file for its agent, with their secrets filled in.
 * @throws {BulkheadError} `invalid_request` for a name that the operator did not register, `env_missing` for a secret
 * without a value, `invalid_config`, `io_error` for secrets that cannot be read
 */
export async function openMcpServers(
  names: readonly string[],
  { registered, openSecrets }: McpServerDeps,
): Promise<SessionMcpServers> {
  if (names.length === 0) return { config: null, secrets: new Map() };
  const servers = [...new Set(names)].map((name): [string, McpServer] => [name, find(name, registered)]);
  const wanted = servers.flatMap(([, server]) => valuesOf(server)).flatMap(secretReferences);
  const { secrets } = await openSecrets({ secrets: [...new Set(wanted)].map((name) => ({ name })) });
  const filled = servers.map(([name, server]) => [name, written(name, server, secrets)]);
  return { config: JSON.stringify({ mcpServers: Object.fromEntries(filled) }), secrets };
}

function find(name: string, registered: McpServerDeps["registered"]): McpServer {
  if (Object.hasOwn(registered, name)) return registered[name]!;
  const names = Object.keys(registered);
  throw new BulkheadError(
    "invalid_request",
    `There is no MCP server "${name}": the operator registered no such name.`,
    {
      hint: names.length === 0
        ? "Register it under mcp_servers in bulkhead.yaml."
        : `Registered are ${names.join(", ")}; others are added under mcp_servers in bulkhead.yaml.`,
      details: { path: "mcp_servers", name },
    },
  );
}

function valuesOf(server: McpServer): string[] {
  return Object.values("command" in server ? server.env ?? {} : server.headers ?? {});
}

function written(name: string, server: McpServer, secrets: ReadonlyMap<string, string>): object {
  const fill = (values: Record<string, string> = {}) =>
    Object.fromEntries(Object.entries(values).map(([key, value]) => [key, filledValue(name, value, secrets)]));
  if ("command" in server) {
    const [command, ...args] = [server.command, ...server.args ?? []].map(withHome);
    return { command, args, env: fill(server.env) };
  }
  return { type: "http", url: server.url, headers: fill(server.headers) };
}

/** Resolves the `~/` that a person writes in the line of a server, which a shell never reads. */
function withHome(word: string): string {
  const home = hostEnv("HOME");
  return word.startsWith("~/") && home ? `${home}${word.slice(1)}` : word;
}

function filledValue(name: string, value: string, secrets: ReadonlyMap<string, string>): string {
  const filled = fillReferences(value, secrets);
  if (filled !== null) return filled;
  const missing = secretReferences(value).find((one) => !secrets.has(one));
  throw new BulkheadError("env_missing", `Cannot use MCP server "${name}": its secret "${missing}" has no value.`, {
    hint: `bulkhead secret set ${missing}`,
    details: { name: missing },
  });
}
