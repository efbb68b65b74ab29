import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import { isAbsolute } from "../../ground/platform/files/paths.ts";
import { containsPrograms, isForPrograms } from "./contained-programs.ts";
import type { PermissionLists } from "./decide.ts";
import { effectivePermissions } from "./effective-permissions.ts";
import type { Plugin } from "../manifest/plugin.ts";
import { requestedPermissions } from "./requested-permissions.ts";

/** A grant that has no effect. */
interface UnaskedGrant {
  permission: string;
  target: string;
}

/** Lists the grants of a plugin for which its manifest does not ask, and that its programs do not have either. */
export function unaskedGrants(plugin: Pick<Plugin, "manifest" | "grant" | "os_walls">): UnaskedGrant[] {
  const requested = requestedPermissions(plugin.manifest);
  return itemsOf(plugin.grant).filter((one) => !hasEffect(requested, one.only) && !isProgramsOwn(plugin, one))
    .map(named);
}

/** Lists the grants that a plugin's contained programs have and its own code does not. */
export function programsGrants(plugin: Pick<Plugin, "manifest" | "grant" | "os_walls">): UnaskedGrant[] {
  const requested = requestedPermissions(plugin.manifest);
  return itemsOf(plugin.grant)
    .filter((one) => isProgramsOwn(plugin, one) && !allows({ requested, grant: one.only, deny: {} })).map(named);
}

function named({ permission, target }: GrantItem): UnaskedGrant {
  return { permission, target };
}

/** Contained programs have what the operator granted of hosts and paths, whether the manifest asks for it or not. */
function isProgramsOwn(
  { manifest, os_walls }: Pick<Plugin, "manifest"> & Partial<Pick<Plugin, "os_walls">>,
  one: UnaskedGrant,
): boolean {
  const { run = [] } = requestedPermissions(manifest);
  return run.length > 0 && os_walls !== undefined && containsPrograms({ manifest, os_walls }) && isForPrograms(one);
}

/** Lists the grants of a plugin that its denials take away. */
export function deniedGrants(
  plugin: Pick<Plugin, "manifest" | "grant" | "deny"> & Partial<Pick<Plugin, "os_walls">>,
): UnaskedGrant[] {
  const { manifest, grant, deny } = plugin;
  const denied = itemsOf(grant).filter((one) => {
    const { only } = one;
    const requested = isProgramsOwn(plugin, one) ? only : requestedPermissions(manifest);
    return allows({ requested, grant: only, deny: {} }) && !allows({ requested, grant: only, deny });
  });
  return denied.map(named);
}

/** Lists the grants of a plugin that have no effect, each with the reason. */
export function grantNotes(
  plugin: Pick<Plugin, "id" | "manifest" | "grant" | "deny" | "os_walls">,
): (UnaskedGrant & { note: string })[] {
  const { id } = plugin;
  return [
    ...unaskedGrants(plugin).map((one) => ({
      ...one,
      note: `${id} does not ask for it, so the grant has no effect.`,
    })),
    ...deniedGrants(plugin).map((one) => ({
      ...one,
      note: `${id} is denied it as well, and what is denied counts: take it out of deny in bulkhead.yaml.`,
    })),
  ];
}

interface GrantItem extends UnaskedGrant {
  /** Permissions with this item alone. */
  only: Permissions;
}

function itemsOf(grant: Permissions): GrantItem[] {
  const { run = [], secrets = [], kv } = grant;
  const lists = (["read", "write", "net", "env", "mcp_servers"] as const).flatMap((permission) =>
    (grant[permission] ?? []).map((target) => ({ permission, target, only: { [permission]: [target] } }))
  );
  return [
    ...run.map((entry) => ({ permission: "run", target: entry.binary, only: { run: [entry] } })),
    ...lists,
    ...secrets.map((entry) => ({ permission: "secrets", target: entry.name, only: { secrets: [entry] } })),
    ...(kv === true ? [{ permission: "kv", target: "kv", only: { kv } }] : []),
  ];
}

function hasEffect(requested: Permissions, only: Permissions): boolean {
  const asked = [...(requested.read ?? []), ...(requested.write ?? [])];
  const given = [...(only.read ?? []), ...(only.write ?? [])];
  // A word such as workdir may be that path in a session.
  if (given.some(isAbsolute) !== asked.some(isAbsolute) && given.length > 0 && asked.length > 0) return true;
  return allows({ requested, grant: only, deny: {} });
}

function allows(sources: PermissionLists): boolean {
  return Object.keys(effectivePermissions(sources)).some((kind) => kind !== "limits");
}
