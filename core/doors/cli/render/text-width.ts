// Rough ranges of East Asian Wide and Fullwidth characters and of emoji (Unicode Standard Annex 11).
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]/u;
const zero = /[\p{Mark}\u200b-\u200d\ufe00-\ufe0f]/u;

/** Counts the columns that a text without control characters takes on a terminal. */
export function textWidth(text: string): number {
  let columns = 0;
  for (const character of text) columns += zero.test(character) ? 0 : wide.test(character) ? 2 : 1;
  return columns;
}

/** Pads the text with blanks to `columns`; longer texts stay as they are. */
export function padEnd(text: string, columns: number): string {
  return text + " ".repeat(Math.max(0, columns - textWidth(text)));
}

/** Puts the text on one line and shortens it with `…` to `columns`. */
export function fitLine(text: string, columns: number): string {
  // A short start is enough; an agent's line may be megabytes long.
  const start = text.slice(0, Math.max(0, columns) * 4 + 16);
  const line = start.replace(/[\r\n\t]+/g, " ").trim();
  if (start.length === text.length && textWidth(line) <= columns) return line;
  return takeColumns(line, Math.max(0, columns - 1)).trimEnd() + "…";
}

/** Wraps the text at blanks where possible, to `columns`; a text cut to `most` lines ends in `…`. */
export function wrapText(text: string, columns: number, most: number): string[] {
  const lines: string[] = [];
  let rest = text.replace(/[\r\n\t]+/g, " ").trim();
  while (rest !== "" && lines.length < most - 1) {
    const taken = takeColumns(rest, Math.max(8, columns));
    const blank = taken.length < rest.length && rest[taken.length] !== " " ? taken.lastIndexOf(" ") : -1;
    const line = blank > 0 ? taken.slice(0, blank) : taken;
    lines.push(line.trimEnd());
    rest = rest.slice(line.length).trimStart();
  }
  return rest === "" ? lines : [...lines, fitLine(rest, columns)];
}

/** Returns the longest beginning of a text that takes at most `columns`. */
export function takeColumns(text: string, columns: number): string {
  let taken = "";
  let width = 0;
  for (const character of text) {
    width += textWidth(character);
    if (width > columns) break;
    taken += character;
  }
  return taken;
}
