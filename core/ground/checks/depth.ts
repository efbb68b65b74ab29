/** True when no value below is nested deeper than `depth` levels; never recurses deeper than that itself. */
export function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (depth <= 0) return false;
  for (const inner of Object.values(value)) if (!isShallow(inner, depth - 1)) return false;
  return true;
}
