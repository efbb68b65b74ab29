import type { HostManifest, PluginSettings } from "../../ground/config/host-manifest.ts";

/** Returns the ids of the entries that name a plugin's id as their source. */
export function instancesOf({ plugins }: HostManifest, id: string): string[] {
  return Object.keys(plugins).filter((entry) => entry !== id && plugins[entry]!.source === id);
}

/** Whether an entry may do something: it is enabled, or has grants for when it is. */
export function isInUse({ enabled, grant }: Pick<PluginSettings, "enabled" | "grant">): boolean {
  return enabled || Object.keys(grant).length > 0;
}
