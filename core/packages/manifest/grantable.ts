/** Permissions that can be granted by name and target. */
export const grantable = ["run", "read", "write", "net", "env", "secrets", "mcp_servers", "kv"] as const;

/** A member of {@link grantable}. */
export type Grantable = (typeof grantable)[number];
