import type { Permissions, RunPermission } from "../../../plugin-sdk/permissions.ts";
import { containLevel } from "../../ground/config/contain-level.ts";
import { isAbsolute } from "../../ground/platform/files/paths.ts";
import { effectivePermissions } from "./effective-permissions.ts";
import { requestedPermissions } from "./requested-permissions.ts";
import type { Plugin } from "../manifest/plugin.ts";

/** Types of plugins whose programs decide by themselves what they do: a model, or a prompt, tells them. */
const agentTypes: ReadonlySet<string> = new Set(["agent", "cli", "acp"]);

/** Whether a plugin's programs are agents, which have settings of their own. */
export function runsAgents({ manifest }: Pick<Plugin, "manifest">): boolean {
  return agentTypes.has(manifest.adapter_type);
}

/** Whether a plugin's programs run contained where no grant says otherwise. */
export function containsPrograms({ manifest, os_walls }: Pick<Plugin, "manifest" | "os_walls">): boolean {
  return runsAgents({ manifest }) && os_walls.agents !== "off";
}

/** Whether all programs of a plugin run contained. */
export function allContained(plugin: Pick<Plugin, "manifest" | "os_walls" | "grant" | "deny">): boolean {
  return containsPrograms(plugin) && (plugin.grant.run ?? []).every(({ binary }) => !mayRunFree(plugin, binary));
}

/** Whether some call may start a program with the rights of the host's user because its grant says so. */
export function mayRunFree(
  { manifest, grant, deny }: Pick<Plugin, "manifest" | "grant" | "deny">,
  program: string,
): boolean {
  const some = ({ run = [] }: Permissions, is: (entry: RunPermission) => boolean) =>
    run.some((entry) => entry.binary === program && is(entry));
  return some(grant, ({ contain, contain_net }) => contain === "off" && contain_net !== true) &&
    some(requestedPermissions(manifest), (asked) => containLevel(asked) < 2) &&
    !some(deny, ({ args, env }) => args === undefined && env === undefined);
}

/** Whether the operator alone decides about a target for contained programs, whatever the manifest asks for. */
export function isForPrograms({ permission, target }: { permission: string; target: string }): boolean {
  return permission === "net" || permission === "read" && isAbsolute(target);
}

/** Places that a plugin's contained programs may read besides their own: those that the operator granted by their path. */
export function programRead({ grant, deny }: Pick<Plugin, "grant" | "deny">): string[] {
  const read = (grant.read ?? []).filter(isAbsolute);
  return effectivePermissions({ requested: { read }, grant: { read }, deny }).read ?? [];
}

/** Hosts that a plugin's contained programs call and can do without; what it asks for as well, they need. */
export function housekeepingHosts({ manifest }: Pick<Plugin, "manifest">): string[] {
  const { net = [] } = requestedPermissions(manifest);
  return (manifest.housekeeping ?? []).filter((host) => !net.includes(host));
}

/** Hosts that a plugin's contained programs may reach: what the operator granted, whether the manifest asks for it or not. */
export function programNet({ grant, deny }: Pick<Plugin, "grant" | "deny">): string[] {
  const { net = [] } = grant;
  return effectivePermissions({ requested: { net }, grant: { net }, deny }).net ?? [];
}
