import { type BundleOrder, bundleOrder, type BundleSource } from "./bundle-order.ts";
import { makeScript } from "./make-bundle.ts";
import type { PluginScript } from "../manifest/plugin.ts";
import { keepScript, readKeptScript } from "./script-cache.ts";
import { scriptOf } from "./mapped-script.ts";

/** Options of {@link bundlePlugin}. */
interface BundleOptions {
  /** Other `node_modules` folders for the packages the plugin names; default: the host's, for bundled plugins only. */
  nodeModules?: readonly string[];
  /** Folder where scripts are kept from one start to the next; absent: nowhere. */
  cacheDir?: string;
}

/** Scripts that are being made, by their order: instances of one plugin that start together share one. */
const underWay = new Map<string, Promise<PluginScript>>();

/**
 * Makes the one script of a plugin from its TypeScript or JavaScript, or from its manifest alone; takes the one that was
 * made before when nothing it was made from has changed. Its completion value is the namespace of the entry. Nothing of
 * the plugin runs here.
 * @throws {BulkheadError} `bundle_failed` with the author's file, line and column; `too_large`
 */
export async function bundlePlugin(source: BundleSource, options: BundleOptions = {}): Promise<PluginScript> {
  const { nodeModules, cacheDir } = options;
  const order = await bundleOrder(source, nodeModules);
  const key = JSON.stringify([cacheDir, order, source.limits.bundle_timeout_ms, source.limits.bundle_mb]);
  const shared = underWay.get(key);
  if (shared !== undefined) return await shared;
  const making = keptOrMade(order, { limits: source.limits, cacheDir });
  underWay.set(key, making);
  return await making.finally(() => underWay.delete(key));
}

async function keptOrMade(
  order: BundleOrder,
  { limits, cacheDir }: { limits: BundleSource["limits"]; cacheDir: string | undefined },
): Promise<PluginScript> {
  const kept = cacheDir === undefined ? null : await readKeptScript(cacheDir, order);
  if (kept) return scriptOf(kept);
  const { inputs, ...script } = await makeScript(order, limits);
  if (cacheDir !== undefined && inputs) await keepScript(cacheDir, order, { inputs, script });
  return scriptOf(script);
}
