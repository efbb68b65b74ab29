import type { PermissionUses } from "../../../plugin-sdk/result.ts";

/** Adds one attempt's permission uses to the session's. */
export function addUses(total: PermissionUses, uses: PermissionUses): void {
  total.allowed += uses.allowed;
  total.denied += uses.denied;
  for (const [permission, { allowed, denied }] of Object.entries(uses.by)) {
    const of = total.by[permission] ??= { allowed: 0, denied: 0 };
    of.allowed += allowed;
    of.denied += denied;
  }
}
