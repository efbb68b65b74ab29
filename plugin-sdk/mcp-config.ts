/**
 * Placeholder in a program's arguments for the path of a file that names the session's MCP servers, in the form that
 * most agents read: `{"mcpServers": {"<name>": {"command", "args", "env"} | {"type": "http", "url", "headers"}}}`. The
 * host writes the file and fills in its path when the program starts. Adapter code sees neither: only the agent gets
 * the operator's servers and the secrets in them.
 */
export const mcpConfigFile = "bulkhead-mcp-servers.json";

/**
 * Placeholder for a session's MCP servers in a message to a program: the first text of a list, followed by the ways in
 * which the program can reach a server, `["bulkhead-mcp-server-list", "command", "http"]`. The host replaces that list
 * with the servers when the message is written to the program's input, as one piece that is one JSON object: each
 * `{"name", "command", "args", "env": [{"name", "value"}]}` or `{"type": "http", "name", "url", "headers": [...]}`, as
 * in the Agent Client Protocol. If a server cannot be reached in one of those ways, the write fails with `unsupported`.
 */
export const mcpServerList = "bulkhead-mcp-server-list";
