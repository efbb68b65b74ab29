import type { AvailabilityReport } from "../../plugin-sdk/availability.ts";
import { PluginPool } from "../pool/plugin-pool.ts";
import { bundlePlugin } from "../registry/bundle.ts";
import type { Plugin, PluginScript } from "../registry/plugin.ts";

/** A plugin in service: its script, bundled once, and its workers. */
export class PluginService {
  readonly plugin: Plugin;
  readonly pool: PluginPool;
  /** The last probe, kept while it is fresh. */
  probed: { report: AvailabilityReport; at: number } | null = null;
  #script: Promise<PluginScript> | null = null;

  constructor(plugin: Plugin) {
    this.plugin = plugin;
    this.pool = new PluginPool({
      pluginId: plugin.id,
      isolation: plugin.isolation,
      limits: plugin.limits,
      script: async () => (await this.script()).text,
    });
  }

  /**
   * The plugin's script; what is hashed is what every worker evaluates. A failure is not kept: the author may mend it.
   * @throws {BulkheadError} `bundle_failed`
   */
  script(): Promise<PluginScript> {
    return this.#script ??= bundlePlugin(this.plugin).catch((error: unknown) => {
      this.#script = null;
      throw error;
    });
  }
}
