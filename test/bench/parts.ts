/**
 * Parts of a benchmark, all or the one that is named.
 * @throws {Error} for a name that no part has
 */
export function partsOf<T>(parts: Readonly<Record<string, T>>, part: string | undefined): [name: string, part: T][] {
  const chosen = Object.entries(parts).filter(([name]) => part === undefined || name === part);
  if (chosen.length === 0) throw new Error(`Cannot run "${part}": the parts are ${Object.keys(parts).join(", ")}.`);
  return chosen;
}
