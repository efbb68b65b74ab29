import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { blockedError } from "../../packages/registry/blocked-plugins.ts";
import type { Plugin } from "../../packages/registry/plugin.ts";
import { meantId } from "../../packages/registry/unknown-plugin.ts";

/** Hint for a host without an enabled adapter. */
export const enableOne = "Find the agents of this machine and enable them: bulkhead setup.";

/**
 * The error for an id that no enabled adapter has. Its hint enables the plugin if it exists, else says which id was meant
 * or names the enabled ones. For a blocked plugin it is the error that names the cause.
 */
export function unknownAdapter(
  id: string,
  plugins: readonly Pick<Plugin, "id" | "enabled" | "blocked">[],
): BulkheadError {
  const known = plugins.find((plugin) => plugin.id === id);
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
