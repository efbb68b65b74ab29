import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { blockedError } from "../../packages/registry/blocked-plugins.ts";
import type { Plugin } from "../../packages/registry/plugin.ts";

/** What to do where no adapter is enabled. */
export const enableOne = 'Write a bulkhead.yaml with "bulkhead init", or enable a plugin in the one you have.';

/**
 * The error for an id that no enabled adapter has: its hint enables the plugin where there is one, else it names those
 * that are enabled. For a plugin that is blocked it is the error that says by what.
 */
export function unknownAdapter(
  id: string,
  plugins: readonly Pick<Plugin, "id" | "enabled" | "blocked">[],
): BulkheadError {
  const known = plugins.find((plugin) => plugin.id === id);
  if (known?.blocked !== undefined) return blockedError(id, known.blocked);
  const enabled = plugins.filter((plugin) => plugin.enabled).map((plugin) => plugin.id).sort();
  const others = enabled.length === 0 ? enableOne : `Enabled are: ${enabled.join(", ")}.`;
  return new BulkheadError("unknown_adapter", `No enabled adapter has the id "${id}".`, {
    hint: known === undefined ? others : `bulkhead plugin enable ${id}`,
    details: { enabled },
  });
}
