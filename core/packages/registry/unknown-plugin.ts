import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { nearest } from "../../ground/config/nearest.ts";
import type { Plugin } from "../manifest/plugin.ts";
import type { Registry, RegistryProblem } from "./registry.ts";

/**
 * Returns the id that an unknown word most likely means: a near one, or one that the word begins or is the beginning of.
 */
export function meantId(word: string, ids: readonly string[]): string | null {
  const name = word.toLowerCase();
  const isBeginning = (short: string, long: string) => short.length > 2 && long.startsWith(short);
  return nearest(name, ids) ?? ids.find((id) => isBeginning(name, id)) ??
    ids.find((id) => isBeginning(id, name) || nearest(name, [id.split("-")[0]!]) !== null) ?? null;
}

/** The error for an id that no plugin has. Its hint says which id was meant, else lists those that exist. */
export function unknownPlugin(id: string, plugins: readonly { id: string }[]): BulkheadError {
  const ids = [...new Set(plugins.map((plugin) => plugin.id))].sort();
  const meant = meantId(id, ids.filter((one) => one !== id));
  return new BulkheadError("not_found", `There is no plugin with the id "${id}".`, {
    hint: meant === null ? `Found: ${ids.join(", ") || "none"}.` : `Did you mean "${meant}"?`,
  });
}

/**
 * Finds a plugin by its id.
 * @throws {BulkheadError} `not_found`, as {@link unknownPlugin}; the reason why one that is there cannot be used
 */
export function pluginOf(
  registry: Pick<Registry, "get" | "list"> & { problems(): readonly RegistryProblem[] },
  id: string,
): Plugin {
  const plugin = registry.get(id);
  if (plugin !== undefined) return plugin;
  const problems = registry.problems();
  const ownProblems = problems.filter((one) => one.id === id);
  const problem = ownProblems.find(({ unavailable }) => unavailable) ?? ownProblems[0];
  throw problem?.error ?? unknownPlugin(id, [...registry.list(), ...problems]);
}
