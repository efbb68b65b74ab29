import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { type Grantable, grantable } from "../../packages/manifest/grantable.ts";

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
    const fault = permission === undefined ? `"${word}" is no permission` : "it lacks a target";
    throw new BulkheadError("invalid_config", `Cannot use "${typed}" as a permission: ${fault}.`, {
      hint: `Write permission:target, for example net:api.example.com:443. Permissions: ${grantable.join(", ")}.`,
    });
  }
  return { permission, target: permission === "kv" ? "kv" : target };
}
