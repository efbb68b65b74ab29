/** Host, in lower case, and port of `host:port`; null for anything else. `*.` may precede a name of two labels. */
export function readNet(text: string): { host: string; port: number } | null {
  const parts = /^((?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\]):([1-9][0-9]{0,4})$/i.exec(text);
  const host = parts?.[1]?.toLowerCase();
  const port = Number(parts?.[2]);
  if (!host || host.includes("..") || port > 65_535) return null;
  // A wildcard over a whole top-level domain would allow hosts that the operator cannot have reviewed.
  if (host.startsWith("*.") && !host.slice(2).includes(".")) return null;
  return { host, port };
}
