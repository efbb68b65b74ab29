import { isAbsolute } from "../runtime/paths.ts";

/** Where the value of a secret is. */
export type SecretSource = { from: "stored" } | { from: "env"; name: string } | { from: "file"; path: string };

/**
 * What the host manifest says about a secret: `stored`, `env:NAME` or `file:/absolute/path`; null for anything else.
 * One that it does not name is `stored`.
 */
export function readSecretReference(text: string): SecretSource | null {
  if (text === "stored") return { from: "stored" };
  const name = /^env:([A-Za-z_][A-Za-z0-9_]{0,255})$/.exec(text)?.[1];
  if (name !== undefined) return { from: "env", name };
  const path = /^file:([^\0]+)$/.exec(text)?.[1];
  return path !== undefined && isAbsolute(path) ? { from: "file", path } : null;
}
