import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { HostManifest, PluginSettings } from "../../ground/config/host-manifest.ts";
import { isPluginId, reservedIds } from "../../ground/config/plugin-ids.ts";

/** Returns the ids of the entries that name a plugin's id as their source. */
export function instancesOf({ plugins }: HostManifest, id: string): string[] {
  return Object.keys(plugins).filter((entry) => entry !== id && plugins[entry]!.source === id);
}

/** Whether an entry may do something: it is enabled, or has grants for when it is. */
export function isInUse({ enabled, grant }: Pick<PluginSettings, "enabled" | "grant">): boolean {
  return enabled || Object.keys(grant).length > 0;
}

/**
 * Returns an id that a plugin can have.
 * @throws {BulkheadError} `invalid_config` for any other text
 */
export function checkId(id: string): string {
  if (isPluginId(id)) return id;
  throw new BulkheadError("invalid_config", `Cannot name a plugin ${JSON.stringify(id)}: that is no id.`, {
    hint: `Use lowercase letters, digits and single hyphens, and none of ${reservedIds.join(", ")}.`,
  });
}
