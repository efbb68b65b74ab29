import type { HostManifest } from "../../ground/config/host-manifest.ts";
import type { HostManifestFault } from "../../ground/config/host-manifest-places.ts";
import { didYouMean } from "../../ground/config/yaml-problems.ts";
import type { Plugin } from "../manifest/plugin.ts";

/** Finds agents that `routing` names and that no enabled plugin is; `order` may name one that is not enabled. */
export function routingFaults(
  { routing }: Pick<HostManifest, "routing">,
  plugins: readonly Pick<Plugin, "id" | "enabled">[],
): HostManifestFault[] {
  const { agent, order = [] } = routing;
  const enabled = plugins.filter((plugin) => plugin.enabled).map(({ id }) => id);
  const known = plugins.map(({ id }) => id);
  const agents = typeof agent === "string"
    ? [{ id: agent, path: ["routing", "agent"] }]
    : agent.map((id, index) => ({ id, path: ["routing", "agent", index] }));
  return [
    ...agents.filter(({ id }) => id !== "auto" && !enabled.includes(id)),
    ...order.map((id, index) => ({ id, path: ["routing", "order", index] })).filter(({ id }) => !known.includes(id)),
  ].map(({ id, path }) => {
    const hint = known.includes(id) ? `Run: bulkhead plugin enable ${id}` : didYouMean(id, known);
    const expected = "the id of an enabled plugin";
    return { path, expected, found: JSON.stringify(id), hint };
  });
}
