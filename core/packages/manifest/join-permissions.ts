import { omitEmpty } from "../../../plugin-sdk/optional-fields.ts";
import type { PermissionLimits, Permissions } from "../../../plugin-sdk/permissions.ts";

/** Returns all that these permissions name, each once; of two ceilings the smaller. */
export function joinPermissions(all: readonly Permissions[]): Permissions {
  const lists = (["run", "read", "write", "net", "env", "secrets", "mcp_servers"] as const).flatMap((kind) => {
    const items = all.flatMap((one): unknown[] => one[kind] ?? []);
    return items.length > 0 ? [[kind, eachOnce(items)]] : [];
  });
  const limits = all.reduce<PermissionLimits>(smaller, {});
  return { ...Object.fromEntries(lists), ...omitEmpty({ kv: all.some(({ kv }) => kv === true), limits }) };
}

/** Leaves out what says the same as an item before it. */
export function eachOnce<T>(items: readonly T[]): T[] {
  return [...new Map(items.map((item) => [JSON.stringify(item), item])).values()];
}

function smaller(least: PermissionLimits, { limits = {} }: Permissions): PermissionLimits {
  const found = { ...least };
  for (const key of ["children", "file_bytes", "response_bytes"] as const) {
    const value = limits[key];
    if (value !== undefined) found[key] = Math.min(value, found[key] ?? value);
  }
  return found;
}
