/** Returns true if the text contains the wildcard text: case does not count, and `*` stands for anything. */
export function containsText(text: string, wildcard: string): boolean {
  const lower = text.toLowerCase();
  let from = 0;
  for (const part of wildcard.toLowerCase().split("*")) {
    const at = lower.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return true;
}
