/** Characters of one batch of small events. An event of as many or more travels alone, and costs more credit. */
export const batchCharacters: number = 32 * 1024;

/** True when a JSON text may hold more values than this: a value costs more to parse and check than its bytes. */
export function hasMoreValues(text: string, most: number): boolean {
  if (text.length <= 2 * most) return false;
  // Each value but the first one of all stands behind one of these.
  let values = 1;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case quote:
        at = endOfString(text, at);
        break;
      case comma:
      case openBracket:
      case openBrace:
        if (++values > most) return true;
    }
  }
  return false;
}

/** Credit that an event of this length takes: one, or for what travels alone one more for every four kilobytes. */
export function creditOf(characters: number): number {
  return characters < batchCharacters ? 1 : 1 + (characters >> 12);
}

const quote = 34;
const comma = 44;
const backslash = 92;
const openBracket = 91;
const openBrace = 123;

/** Index of the quote that ends the string which begins at `start`; the text's length where none does. */
function endOfString(text: string, start: number): number {
  const next = text.indexOf('"', start + 1);
  if (next === -1) return text.length;
  if (text.charCodeAt(next - 1) !== backslash) return next;
  // To search for quote after quote is slow in a text that is full of them.
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== quote) at += text.charCodeAt(at) === backslash ? 2 : 1;
  return at;
}
