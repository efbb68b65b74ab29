import { countedHosts, type HostUses, type PermissionUses } from "../../../plugin-sdk/result.ts";

/** Adds one attempt's permission uses to the session's. */
export function addUses(total: PermissionUses, uses: PermissionUses): void {
  total.allowed += uses.allowed;
  total.denied += uses.denied;
  for (const [permission, { allowed, denied }] of Object.entries(uses.by)) {
    const of = total.by[permission] ??= { allowed: 0, denied: 0 };
    of.allowed += allowed;
    of.denied += denied;
  }
  for (const [host, of] of Object.entries(uses.hosts ?? {})) countHost(total, host, of);
}

/** Adds uses of a host, unless too many others are counted. */
export function countHost(total: PermissionUses, host: string, uses: Partial<HostUses>): void {
  const hosts = total.hosts ??= {};
  if (!Object.hasOwn(hosts, host) && Object.keys(hosts).length >= countedHosts) return;
  const of = hosts[host] ??= { allowed: 0, denied: 0 };
  of.allowed += uses.allowed ?? 0;
  of.denied += uses.denied ?? 0;
  if (uses.not_needed !== undefined) of.not_needed = (of.not_needed ?? 0) + uses.not_needed;
}
