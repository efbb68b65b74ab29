import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { type Grantable, grantable } from "../../packages/registry/grantable.ts";

/**
 * Parses a typed grant: `permission:target`, or `kv` alone.
 * @throws {BulkheadError} `invalid_config`
 */
export function parseGrant(typed: string): { permission: Grantable; target: string } {
  const split = typed.indexOf(":");
  const word = split === -1 ? typed : typed.slice(0, split);
  const target = split === -1 ? "" : typed.slice(split + 1);
  const permission = grantable.find((known) => known === word);
  if (permission === undefined || (permission !== "kv" && target === "")) {
    throw new BulkheadError("invalid_config", `"${typed}" is not a permission and its target.`, {
      hint: `Write permission:target, such as run:git or read:workdir. Permissions: ${grantable.join(", ")}.`,
    });
  }
  return { permission, target: permission === "kv" ? "kv" : target };
}
