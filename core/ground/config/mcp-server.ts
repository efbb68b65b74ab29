/** An MCP server that the operator registered for agents to use: a program, or an address. */
export type McpServer =
  | { command: string; args?: string[]; env?: Record<string, string> }
  | { url: string; headers?: Record<string, string> };

const reference = /\$\{secret:([A-Za-z_][A-Za-z0-9_]{0,255})\}/g;

/** Names of the secrets that a value refers to as `${secret:NAME}`. */
export function secretReferences(text: string): string[] {
  return [...text.matchAll(reference)].map(([, name]) => name!);
}

/** True for a value in which every `${` begins such a reference. */
export function hasOnlyReferences(text: string): boolean {
  return !text.replace(reference, "").includes("${");
}

/** The value with the secrets in their places; null where one is missing. */
export function fillReferences(text: string, secrets: ReadonlyMap<string, string>): string | null {
  if (secretReferences(text).some((name) => !secrets.has(name))) return null;
  return text.replace(reference, (_whole, name: string) => secrets.get(name)!);
}
