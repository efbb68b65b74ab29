/** Widest text of a line that is shown. */
const widest = 100;

/** Place of a problem, and its words for what is there. */
interface ExcerptPlace {
  line: number;
  column: number;
  found: string;
}

/** Options of {@link excerptOf}. */
interface ExcerptOptions {
  /** Shows no value that the problem does not name: the file may hold secrets. */
  masks: boolean;
}

/** Shows the line of a problem with a caret below its place; undefined where the file has no such line. */
export function excerptOf(source: string, problem: ExcerptPlace, { masks }: ExcerptOptions): string | undefined {
  const whole = source.split(/\r?\n/)[problem.line - 1];
  if (whole === undefined || whole.trim() === "") return undefined;
  const text = (masks ? masked(whole, problem) : whole).replaceAll("\t", " ");
  const at = Math.min(problem.column - 1, text.length);
  const from = at < widest ? 0 : at - Math.floor(widest / 2);
  const number = String(problem.line);
  return `${number} | ${text.slice(from, from + widest)}\n${" ".repeat(number.length)} | ${" ".repeat(at - from)}^`;
}

/** Replaces letters and digits behind the first key, but for other keys and the word that the problem names itself. */
function masked(text: string, { column, found }: ExcerptPlace): string {
  const key = /:(?=\s|$)/.exec(text)?.index ?? -1;
  const start = column - 1;
  const word = shownWord(found);
  const quoted = /["']/.test(text[start] ?? "") ? 1 : 0;
  const end = word !== null && text.startsWith(word, start + quoted) ? start + word.length + quoted : start;
  const keys = [...text.matchAll(flowKey)].map(({ index, 0: { length } }) => ({ from: index, to: index + length }));
  return text.replace(/[\p{L}\p{N}]/gu, (character, at: number) => {
    const isKey = at < key || keys.some(({ from, to }) => at >= from && at < to);
    return isKey || (at >= start && at < end) ? character : "·".repeat(character.length);
  });
}

/** A key in braces, which holds no secret: `{ agent: …, require: … }`. */
const flowKey = /(?<=[{,]\s*)[A-Za-z][\w-]{0,63}(?=:(?:\s|$))/g;

/** Returns the value or key that stands in a problem's words: `number 5`, `string "abc"` or `"abc"`. */
function shownWord(found: string): string | null {
  try {
    return String(JSON.parse(found.replace(/^(?:string|number|boolean) /, "")));
  } catch {
    return null;
  }
}
