import type { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import type { Plugin } from "../../packages/manifest/plugin.ts";
import type { Host } from "./host.ts";
import { loadError } from "./served-plugin.ts";

interface TryOptions {
  /** Ids of the plugins; absent: all that are enabled. */
  ids?: readonly string[] | undefined;
  /** Stops before the next one. */
  signal?: AbortSignal;
}

/**
 * Loads the code of enabled plugins that others wrote, one plugin at a time, so that an incomplete one is told before a
 * session needs it. Yields the error of each that cannot be loaded.
 */
export async function* tryPlugins(
  host: { load: Host["load"]; registry: Pick<Host["registry"], "list"> },
  { ids, signal }: TryOptions = {},
): AsyncGenerator<BulkheadError, void, void> {
  const tried = host.registry.list().filter((plugin) => hasForeignCode(plugin) && ids?.includes(plugin.id) !== false);
  for (const { id } of tried) {
    if (signal?.aborted) return;
    try {
      await host.load(id);
    } catch (error) {
      const data = toErrorData(error);
      // The host ends, or the operator took the plugin out of use meanwhile.
      if (data.code !== "host_closed" && data.code !== "unknown_adapter") yield loadError(id, data);
    }
  }
}

/** Bulkhead's own plugins are tried by its tests; one of YAML alone runs code of the host. */
function hasForeignCode({ enabled, origin, manifest: { entry, normaliser } }: Plugin): boolean {
  return enabled && origin !== "bundled" && (entry ?? normaliser) !== undefined;
}
