// East Asian Wide and Fullwidth characters (Unicode Standard Annex 11); emoji are told by their own property.
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]/u;
// Marks, joiners, and the vowels and ends that a Korean syllable takes in.
const zero = /[\p{Mark}\u1160-\u11ff\u200b-\u200d]/u;
const emoji = /\p{Emoji_Presentation}|\p{Emoji}\ufe0f/u;

/** Counts the columns that a text without control characters takes on a terminal. */
export function textWidth(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length;
  let columns = 0;
  for (const grapheme of graphemesOf(text)) columns += graphemeWidth(grapheme);
  return columns;
}

/** Splits a text where it may be cut. Without emoji by character: the first use of the engine's tables takes 12 ms. */
function* graphemesOf(text: string): Generator<string> {
  if (!emoji.test(text)) return yield* text;
  for (const { segment } of new Intl.Segmenter("en", { granularity: "grapheme" }).segment(text)) yield segment;
}

/** An emoji is as wide as its picture, however many characters make it up. */
function graphemeWidth(grapheme: string): number {
  if (emoji.test(grapheme)) return 2;
  let columns = 0;
  for (const character of grapheme) columns += zero.test(character) ? 0 : wide.test(character) ? 2 : 1;
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

/** Wraps each line of a text at its blanks, to `columns`; 0: no terminal, and nothing is wrapped. */
export function wrapLines(text: string, columns: number): string {
  if (columns === 0) return text;
  return text.split("\n").flatMap((line) => {
    if (textWidth(line) <= columns) return [line];
    // A word that fits into a line stays whole, also where the indent leaves too little room for it.
    const longest = Math.max(...line.trim().split(/\s+/).map(textWidth));
    const room = longest <= columns ? columns - longest : columns;
    const indent = " ".repeat(Math.min(/^ */.exec(line)?.[0].length ?? 0, room));
    return wrapText(line, columns - indent.length, 200).map((part) => indent + part);
  }).join("\n");
}

/** Returns the longest beginning of a text that takes at most `columns`; never a part of an emoji. */
export function takeColumns(text: string, columns: number): string {
  let taken = "";
  let width = 0;
  for (const grapheme of graphemesOf(text)) {
    width += graphemeWidth(grapheme);
    if (width > columns) break;
    taken += grapheme;
  }
  return taken;
}

/** An example: a command, and after two blanks or more why. */
const example = /^( *)(\S.*?) {2,}(\S.*)$/;

/** Fits what a help text adds to its flags: where examples are too long for a line, each reason stands below its command. */
export function fitHelp(text: string, columns: number): string {
  const blocks = text.split("\n\n");
  return blocks.map((block) => {
    const lines = block.split("\n");
    if (lines.every((line) => textWidth(line) <= columns)) return block;
    return lines.flatMap((line) => fitLines(line, columns)).join("\n");
  }).join("\n\n");
}

function fitLines(line: string, columns: number): string[] {
  const [, indent = "", command, why] = example.exec(line) ?? [];
  if (command !== undefined && why !== undefined) return [indent + command, wrapLines(`${indent}    ${why}`, columns)];
  // A command stays whole, to be copied.
  return textWidth(line) <= columns || line.startsWith(" ") ? [line] : wrapText(line, columns, 20);
}
