import type { SessionRequest } from "bulkhead/plugin-sdk";
import { knownTools } from "./tool-names.ts";

/**
 * Returns the tools that must ask: the program runs commands that it takes for reading unasked, and what its user's settings
 * allow. A request that says how it is approved goes before both.
 */
export function toolsThatAsk(
  { approval = "all", allowed_tools, tool_approvals = {} }: SessionRequest,
): string[] {
  const patterns = Object.entries(tool_approvals).flatMap(([pattern, answer]) => (answer === "allow" ? [] : [pattern]));
  const named = patterns.filter((pattern) => !pattern.includes("*"));
  if (approval === "all" && allowed_tools === undefined && patterns.length === named.length) return named;
  return [...new Set([...knownTools(["edit", "execute"]), ...named])];
}
