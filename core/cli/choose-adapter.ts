import { BulkheadError } from "../../plugin-sdk/errors.ts";
import type { HostManifest } from "../config/host-manifest.ts";
import { blockedError } from "../registry/blocked-plugins.ts";
import type { Plugin } from "../registry/plugin.ts";

/** What {@link chooseAdapter} chooses from. */
export interface AdapterChoice {
  /** The command line's: an id, several with commas, or `auto`. */
  given: string | undefined;
  plugins: readonly Pick<Plugin, "id" | "enabled" | "blocked">[];
  routing: HostManifest["routing"] | undefined;
}

/**
 * What is wanted of the adapter: an id, a chain of ids or `auto`, as given or as `routing.agent` has it. Where there is
 * only one to choose from it is that one, and nobody is asked first.
 * @throws {BulkheadError} `unknown_adapter` for an id that no enabled adapter has, listing those that are enabled;
 * `blocked_plugin`
 */
export function chooseAdapter({ given, plugins, routing }: AdapterChoice): string | string[] {
  const enabled = plugins.filter((plugin) => plugin.enabled).map((plugin) => plugin.id).sort();
  const wanted = given?.split(",") ?? [routing?.agent ?? "auto"].flat();
  const [first = "auto", ...others] = wanted;
  if (others.length === 0 && first === "auto") {
    const [only, ...more] = enabled;
    if (only === undefined) throw new BulkheadError("unknown_adapter", "No adapter is enabled.", listing(enabled));
    return more.length === 0 ? only : "auto";
  }
  const unknown = wanted.find((id) => !enabled.includes(id));
  if (unknown !== undefined) {
    const known = plugins.find(({ id }) => id === unknown);
    if (known?.blocked !== undefined) throw blockedError(unknown, known.blocked);
    throw new BulkheadError("unknown_adapter", `No enabled adapter has the id "${unknown}".`, listing(enabled));
  }
  return others.length === 0 ? first : wanted;
}

function listing(enabled: readonly string[]): { hint: string; details: Record<string, unknown> } {
  const hint = enabled.length === 0
    ? 'Write a bulkhead.yaml with "bulkhead init", or enable a plugin in the one you have.'
    : `Enabled: ${enabled.join(", ")}. Run "bulkhead run <adapter> <prompt>".`;
  return { hint, details: { enabled: [...enabled] } };
}
