import { isAbsolute } from "../platform/files/paths.ts";

/** Source of a secret's value. */
export type SecretSource = { from: "stored" } | { from: "env"; name: string } | { from: "file"; path: string };

/**
 * Parses the host manifest's entry for a secret: `stored`, `env:NAME` or `file:/absolute/path`; null for anything else.
 * A secret without an entry is `stored`.
 */
export function readSecretReference(text: string): SecretSource | null {
  if (text === "stored") return { from: "stored" };
  const name = /^env:([A-Za-z_][A-Za-z0-9_]{0,255})$/.exec(text)?.[1];
  if (name !== undefined) return { from: "env", name };
  const path = /^file:([^\0]+)$/.exec(text)?.[1];
  return path !== undefined && isAbsolute(path) ? { from: "file", path } : null;
}
