/**
 * Stands in a program's arguments for the path of a file that names the session's MCP servers, in the form that most
 * agents read: `{"mcpServers": {"<name>": {"command", "args", "env"} | {"type": "http", "url", "headers"}}}`. The host
 * writes the file and puts its path in when the program is started. Adapter code sees neither: what the operator
 * registered, secrets in it, is nobody's but the agent's.
 */
export const mcpConfigFile = "bulkhead-mcp-servers.json";
