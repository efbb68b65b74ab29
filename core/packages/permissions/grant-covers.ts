import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import { effectivePermissions } from "./effective-permissions.ts";
import type { Grantable } from "../manifest/grantable.ts";

/** Whether a grant would allow a use in the journal, by a plugin that asks for exactly this use. */
export function grantCovers(permission: Grantable, { grant, used }: { grant: string; used: string }): boolean {
  const effective = effectivePermissions({
    requested: only(permission, used),
    grant: only(permission, grant),
    deny: {},
  });
  const left = effective[permission];
  return left === true || Array.isArray(left) && left.length > 0;
}

function only(permission: Grantable, target: string): Permissions {
  if (permission === "kv") return { kv: true };
  if (permission === "run") return { run: [{ binary: target.split(" ")[0] ?? target }] };
  return { [permission]: [target] };
}
