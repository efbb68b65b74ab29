import { bundleOrder, type BundleSource } from "./bundle-order.ts";
import { makeScript } from "./make-bundle.ts";
import type { PluginScript } from "./plugin.ts";
import { keepScript, readKeptScript } from "./script-cache.ts";
import { scriptOf } from "./script-parts.ts";

/** Options of {@link bundlePlugin}. */
export interface BundleOptions {
  /** Other `node_modules` folders for the packages the plugin names; default: the host's, for bundled plugins only. */
  nodeModules?: readonly string[];
  /** Folder where scripts are kept from one start to the next; absent: nowhere. */
  cacheDir?: string;
}

/**
 * Makes the one script of a plugin from its TypeScript or JavaScript, or from its manifest alone; takes the one that was
 * made before when nothing it was made from has changed. Its completion value is the namespace of the entry. Nothing of
 * the plugin runs here.
 * @throws {BulkheadError} `bundle_failed` with the author's file, line and column; `too_large`
 */
export async function bundlePlugin(source: BundleSource, options: BundleOptions = {}): Promise<PluginScript> {
  const { nodeModules, cacheDir } = options;
  const order = await bundleOrder(source, nodeModules);
  const kept = cacheDir === undefined ? null : await readKeptScript(cacheDir, order);
  if (kept) return scriptOf(order.pluginId, kept);
  const { inputs, ...parts } = await makeScript(order, source.limits);
  if (cacheDir !== undefined && inputs) await keepScript(cacheDir, order, { inputs, parts });
  return scriptOf(order.pluginId, parts);
}
