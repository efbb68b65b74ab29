/**
 * Returns true if the text contains the wildcard text: case does not count, `*` stands for anything, and a number is no
 * part of a longer one.
 */
export function containsText(text: string, wildcard: string): boolean {
  const lower = text.toLowerCase();
  let from = 0;
  for (const part of wildcard.toLowerCase().split("*")) {
    const at = find(lower, part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return true;
}

/** Searches without backtracking, so time grows with the length of the text alone. */
function find(text: string, part: string, from: number): number {
  let at = text.indexOf(part, from);
  while (at >= 0 && cutsNumber(text, at, part)) at = text.indexOf(part, at + 1);
  return at;
}

function cutsNumber(text: string, at: number, part: string): boolean {
  const end = at + part.length;
  return (isDigit(part[0]) && isDigit(text[at - 1])) || (isDigit(part.at(-1)) && isDigit(text[end]));
}

function isDigit(char: string | undefined): boolean {
  return char !== undefined && char >= "0" && char <= "9";
}
