import { type Caller, hasScope } from "./scopes.ts";
import type { PluginFacts } from "./plugin-facts.ts";

/** A host's plugins, restricted to what one caller may see: a token that may only run sessions sees none. */
export function callerPlugins(caller: Caller, plugins: PluginFacts): Pick<PluginFacts, "list" | "permissions"> {
  return {
    list: async () => hasScope(caller, "read") ? await plugins.list() : [],
    permissions: (id) => plugins.permissions(id),
  };
}
