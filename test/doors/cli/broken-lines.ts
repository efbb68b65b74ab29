import { stripVTControlCharacters } from "node:util";
import { textWidth } from "../../../core/doors/cli/render/text-width.ts";

/** Lines to copy: a terminal may break them, a line's end of ours would spoil them. */
const toCopy = /^ *(→ |\{|source |npm |(npx )?bulkhead )/;

/** Ends of lines, and control sequences that move the cursor or erase (ECMA-48). */
// deno-lint-ignore no-control-regex
const ends = /[\r\n]|\u001b\[\d*[A-HJK]/;

/** Returns the lines that a terminal of so many columns breaks where no blank is, though they have blanks. */
export function brokenLines(text: string, columns: number): string[] {
  return text.split(ends).map(stripVTControlCharacters).filter((line) => {
    const isCommand = toCopy.test(line) && !/\S {2,}\S/.test(line);
    const longest = Math.max(...line.trim().split(/ +/).map(textWidth));
    return textWidth(line) > columns && !isCommand && longest < columns - 8;
  });
}
