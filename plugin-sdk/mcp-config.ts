/**
 * Stands in a program's arguments for the path of a file that names the session's MCP servers, in the form that most
 * agents read: `{"mcpServers": {"<name>": {"command", "args", "env"} | {"type": "http", "url", "headers"}}}`. The host
 * writes the file and puts its path in when the program is started. Adapter code sees neither: what the operator
 * registered, secrets in it, is nobody's but the agent's.
 */
export const mcpConfigFile = "bulkhead-mcp-servers.json";

/**
 * Stands for a session's MCP servers in a message to a program: the first text of a list, with the ways that the program
 * can reach a server by after it, `["bulkhead-mcp-server-list", "command", "http"]`. The host puts the servers in that
 * list's place when the message is written to the program's input, as one piece that is one JSON object: each
 * `{"name", "command", "args", "env": [{"name", "value"}]}` or `{"type": "http", "name", "url", "headers": [...]}`, as the
 * Agent Client Protocol has them. Where a server cannot be reached in one of those ways, the write fails with `unsupported`.
 */
export const mcpServerList = "bulkhead-mcp-server-list";
