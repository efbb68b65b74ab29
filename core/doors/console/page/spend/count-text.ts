/** A count in a short form. */
export function countText(count: number): string {
  if (count < 10_000) return count.toLocaleString("en");
  return count < 1_000_000 ? `${(count / 1000).toFixed(1)} k` : `${(count / 1_000_000).toFixed(2)} M`;
}
