import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { blockedError } from "../../packages/registry/blocked-plugins.ts";
import type { RegistryProblem } from "../../packages/registry/registry.ts";
import type { Plugin } from "../../packages/manifest/plugin.ts";
import { meantId } from "../../packages/registry/unknown-plugin.ts";

/** Hint for a host without an enabled adapter. */
export const enableOne = "Find the agents of this machine and enable them: bulkhead setup.";

/** A plugin, as far as this matters; one that cannot be used has nothing but its id and the reason. */
export interface NamedPlugin extends Pick<Plugin, "id" | "enabled" | "blocked"> {
  /** Why it is stopped although the host manifest enables it. */
  stopped?: BulkheadError;
}

/** Plugins that are enabled and cannot be used, as {@link unknownAdapter} takes them. */
export function stoppedPlugins(
  problems: readonly Pick<RegistryProblem, "id" | "error" | "unavailable">[],
): (NamedPlugin & { stopped: BulkheadError })[] {
  return problems.filter(({ unavailable }) => unavailable)
    .map(({ id, error }) => ({ id, enabled: false, stopped: error }));
}

/**
 * The error for an id that no enabled adapter has. Its hint enables the plugin if it exists, else says which id was meant
 * or names the enabled ones. For a blocked plugin, and a
 * stopped one, it is the error that names the cause.
 */
export function unknownAdapter(
  id: string,
  plugins: readonly NamedPlugin[],
): BulkheadError {
  const known = plugins.find((plugin) => plugin.id === id);
  if (known?.stopped !== undefined) return known.stopped;
  if (known?.blocked !== undefined) return blockedError(id, known.blocked);
  const enabled = plugins.filter((plugin) => plugin.enabled).map((plugin) => plugin.id).sort();
  const meant = known === undefined ? meantId(id, plugins.map((plugin) => plugin.id)) : null;
  const others = meant !== null
    ? `Did you mean "${meant}"?`
    : enabled.length === 0
    ? enableOne
    : `Enabled are: ${enabled.join(", ")}.`;
  return new BulkheadError("unknown_adapter", `No enabled adapter has the id "${id}".`, {
    hint: known === undefined ? others : `bulkhead plugin enable ${id}`,
    details: { enabled },
  });
}
