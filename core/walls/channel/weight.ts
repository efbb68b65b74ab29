/** About the bytes of a JSON value's text, without writing it. A value in memory takes at least as much. */
export function weightOf(value: unknown): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return 8;
  let weight = 2;
  if (Array.isArray(value)) { for (const one of value) weight += weightOf(one) + 1; }
  else for (const name in value) weight += name.length + 4 + weightOf((value as Record<string, unknown>)[name]);
  return weight;
}
