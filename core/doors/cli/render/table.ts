import { safeLine } from "./agent-text.ts";
import type { Paint, Tone } from "./paint.ts";
import { fitLine, padEnd, textWidth } from "./text-width.ts";

/** One cell; a plain string has the plain tone. */
export type Cell = string | { text: string; tone: Tone };

/** Options of {@link tableLines}. */
export interface TableOptions {
  paint: Paint;
  /** Columns of the terminal: the last column is shortened to fit. */
  columns: number;
  indent?: number;
  /** Titles above the columns. */
  head?: readonly string[];
}

/** Formats a table: columns as wide as their widest cell, two blanks apart, no blanks after the last one. */
export function tableLines(rows: readonly (readonly Cell[])[], options: TableOptions): string[] {
  const { paint, columns, indent = 0, head } = options;
  const all: (readonly Cell[])[] = head === undefined
    ? [...rows]
    : [head.map((text): Cell => ({ text, tone: "dim" })), ...rows];
  const widths: number[] = [];
  for (const row of all) {
    row.forEach((cell, index) => widths[index] = Math.max(widths[index] ?? 0, textWidth(textOf(cell))));
  }
  return all.map((row) => {
    let left = indent;
    const cells = row.map((cell, index) => {
      const last = index === row.length - 1;
      const width = widths[index] ?? 0;
      const text = last ? fitLine(textOf(cell), Math.max(8, columns - left)) : padEnd(textOf(cell), width);
      left += width + 2;
      return typeof cell === "string" ? text : paint(cell.tone, text);
    });
    return " ".repeat(indent) + cells.join("  ").trimEnd();
  });
}

/** Cleans every cell, so that no column can be forgotten; clean text stays as it is. */
function textOf(cell: Cell): string {
  return safeLine(typeof cell === "string" ? cell : cell.text);
}
