import type { BrokerScope } from "./operation.ts";

/**
 * Asks whether a program may be handed the session's MCP servers, and journals it: which servers, and to which program.
 * Secrets stand in their definitions, and a program that prints what it is told would tell the adapter.
 * @throws {BulkheadError} `permission_denied`
 */
export async function demandMcpServers(
  { options, authority }: Pick<BrokerScope, "options" | "authority">,
  binary: string,
): Promise<void> {
  // The host wrote this text itself.
  const { mcpServers } = JSON.parse(options.mcpConfig ?? '{"mcpServers":{}}') as {
    mcpServers: Record<string, unknown>;
  };
  const subject = `${Object.keys(mcpServers).join(", ")} to ${binary}`;
  await authority.demand({
    permission: "mcp_servers",
    target: binary,
    subject,
    exactly: subject,
    grantedBy: ({ mcp_servers }) => mcp_servers?.includes(binary) ?? false,
  });
}
