import { BulkheadError } from "../../plugin-sdk/errors.ts";
import type { Permissions } from "../../plugin-sdk/permissions.ts";
import type { Host } from "../host/host.ts";
import type { CrashRecord } from "../pool/plugin-health.ts";
import { broadPlaces } from "../registry/broad-permissions.ts";
import { type ExplainedPermission, explainPermissions } from "../registry/explain-permissions.ts";
import type { Plugin } from "../registry/plugin.ts";
import { requestedPermissions } from "../registry/requested-permissions.ts";

/** A plugin in a list, as `bulkhead plugin list --json` prints it. */
export interface PluginReport {
  id: string;
  name: string;
  version: string;
  description: string;
  adapter_type: string;
  folder: string;
  origin: string;
  enabled: boolean;
  trusted: boolean;
  isolation: string;
  quarantine: CrashRecord | null;
}

/** A plugin with what it asks for and what came of each. */
export interface ExplainedPlugin extends PluginReport {
  permissions: ExplainedPermission[];
  /** The options that it declares; null without any. */
  config: Plugin["manifest"]["config"] | null;
}

/** What the operator decided about a plugin's permissions, as written. */
export interface PluginGrants {
  plugin_id: string;
  grant: Permissions;
  deny: Permissions;
}

/** What the door shows of plugins. */
export interface PluginFacts {
  list(): Promise<PluginReport[]>;
  /** @throws {BulkheadError} `not_found` */
  explain(id: string): Promise<ExplainedPlugin>;
  /** @throws {BulkheadError} `not_found` */
  grants(id: string): PluginGrants;
}

/** Shows the plugins of a host; `manifestFile` is where its host manifest lies. */
export function pluginFacts(
  host: Pick<Host, "registry" | "quarantined">,
  manifestFile: string | undefined,
): PluginFacts {
  const pluginOf = (id: string): Plugin => {
    const plugin = host.registry.get(id);
    if (plugin !== undefined) return plugin;
    throw new BulkheadError("not_found", `There is no plugin with the id "${id}".`, {
      hint: '"GET /v1/plugins" lists those there are.',
    });
  };
  const stopped = async () => new Map((await host.quarantined()).map((record) => [record.plugin_id, record]));
  return {
    async list() {
      const quarantined = await stopped();
      const plugins = host.registry.list().toSorted((a, b) => a.id.localeCompare(b.id));
      return plugins.map((plugin) => report(plugin, quarantined.get(plugin.id)));
    },
    async explain(id) {
      const plugin = pluginOf(id);
      const { grant, deny } = plugin;
      const sources = { requested: requestedPermissions(plugin.manifest), grant, deny };
      const permissions = explainPermissions(sources, broadPlaces(manifestFile));
      return { ...report(plugin, (await stopped()).get(id)), permissions, config: plugin.manifest.config ?? null };
    },
    grants: (id) => {
      const { grant, deny } = pluginOf(id);
      return { plugin_id: id, grant, deny };
    },
  };
}

function report(
  { id, manifest, folder, origin, enabled, trusted, isolation }: Plugin,
  quarantine: CrashRecord | undefined,
): PluginReport {
  const { name, version, description, adapter_type } = manifest;
  const stated = { id, name, version, description, adapter_type, folder, origin, enabled, trusted, isolation };
  return { ...stated, quarantine: quarantine ?? null };
}
