import type { Effort } from "./request.ts";

/** Words of agents for how much a model thinks, the least first. */
const ranks: readonly string[] = ["none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"];

/** Returns the word among those of an agent that is nearest to an effort, the lesser one of two; undefined where it has none. */
export function nearestEffort(effort: Effort, offered: readonly string[]): string | undefined {
  const wanted = ranks.indexOf(effort);
  const known = ranks.filter((word) => offered.includes(word));
  const away = (word: string) => Math.abs(ranks.indexOf(word) - wanted);
  return known.reduce<string | undefined>(
    (best, word) => best === undefined || away(word) < away(best) ? word : best,
    undefined,
  );
}
