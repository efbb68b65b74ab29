import { BulkheadError } from "../../plugin-sdk/errors.ts";
import type { HostManifest } from "../config/host-manifest.ts";
import type { Plugin } from "../registry/plugin.ts";

/** What {@link chooseAdapter} chooses from. */
export interface AdapterChoice {
  /** The id on the command line. */
  given: string | undefined;
  plugins: readonly Plugin[];
  routing: HostManifest["routing"] | undefined;
}

/**
 * The adapter to run: the given one, the one that `routing.agent` names, or the only enabled one.
 * @throws {BulkheadError} `unknown_adapter` listing those that are enabled
 */
export function chooseAdapter({ given, plugins, routing }: AdapterChoice): string {
  const enabled = plugins.filter((plugin) => plugin.enabled).map((plugin) => plugin.id).sort();
  const wanted = given ?? routed(routing);
  if (wanted !== undefined) {
    if (enabled.includes(wanted)) return wanted;
    throw new BulkheadError("unknown_adapter", `No enabled adapter has the id "${wanted}".`, listing(enabled));
  }
  const [only] = enabled;
  if (only !== undefined && enabled.length === 1) return only;
  const why = only === undefined ? "No adapter is enabled." : "Several adapters are enabled and none was named.";
  throw new BulkheadError("unknown_adapter", why, listing(enabled));
}

function routed(routing: HostManifest["routing"] | undefined): string | undefined {
  const agent = routing?.agent;
  if (Array.isArray(agent)) return agent.length === 1 ? agent[0] : undefined;
  return agent === "auto" ? undefined : agent;
}

function listing(enabled: readonly string[]): { hint: string; details: Record<string, unknown> } {
  const hint = enabled.length === 0
    ? 'Write a bulkhead.yaml with "bulkhead init", or enable a plugin in the one you have.'
    : `Enabled: ${enabled.join(", ")}. Run "bulkhead run <adapter> <prompt>".`;
  return { hint, details: { enabled: [...enabled] } };
}
