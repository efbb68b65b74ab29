import { safeLine } from "./agent-text.ts";
import { asTyped } from "./as-typed.ts";
import type { Paint, Tone } from "./paint.ts";
import { fitLine, padEnd, textWidth, wrapText } from "./text-width.ts";

/** One cell; a plain string has the plain tone. */
export type Cell = string | { text: string; tone: Tone };

/** One row; each line of a remedy, such as a command to run, is a line below it and never cut or broken. */
export type Row = readonly Cell[] | { cells: readonly Cell[]; remedy: string | undefined };

interface TableOptions {
  paint: Paint;
  /** Columns of the terminal: the last column is fitted in. */
  columns: number;
  /** Wraps the last column, where it holds what a person must read whole; default: it is shortened. */
  wraps?: boolean;
  indent?: number;
  /** Titles above the columns. */
  head?: readonly string[];
}

/** Formats a table: columns as wide as their widest cell, two blanks apart. A column without a text is left out. */
export function tableLines(rows: readonly Row[], options: TableOptions): string[] {
  const { paint, columns, indent = 0, head = [] } = options;
  const said = (cell: Cell): Cell =>
    typeof cell === "string" ? paint("plain", cell) : { ...cell, text: paint("plain", cell.text) };
  const given = rows.map((row) => "cells" in row ? row : { cells: row, remedy: undefined })
    .map(({ cells, remedy }) => ({ cells: cells.map(said), remedy }));
  const isUsed = (_: unknown, index: number) => given.some(({ cells }) => textOf(cells[index] ?? "") !== "");
  const used = given.map(({ cells, remedy }) => ({ cells: cells.filter(isUsed), remedy }));
  const titles = head.filter(isUsed).map((text): Cell => ({ text, tone: "dim" }));
  const widths: number[] = [];
  for (const cells of [titles, ...used.map(({ cells }) => cells)]) {
    cells.forEach((cell, index) => widths[index] = Math.max(widths[index] ?? 0, textWidth(textOf(cell))));
  }
  // A title that has no room is left out: its cells stand on lines of their own.
  const left = indent + widths.slice(0, -1).reduce((sum, width) => sum + width + 2, 0);
  if (options.wraps === true && left + textWidth(textOf(titles.at(-1) ?? "")) > columns) titles.pop();
  return [
    ...(titles.length === 0 ? [] : rowLines(titles, widths, options)),
    ...used.flatMap(({ cells, remedy }) => [
      ...rowLines(cells, widths, options),
      ...(remedy ?? "").split("\n").filter((line) => line !== "")
        .map((line) => `${" ".repeat(indent + 2)}${paint("cyan", `→ ${safeLine(asTyped(line))}`)}`),
    ]),
  ];
}

function rowLines(row: readonly Cell[], widths: readonly number[], options: TableOptions): string[] {
  const { paint, columns, indent = 0, wraps } = options;
  const last = row.at(-1);
  const left = indent + widths.slice(0, row.length - 1).reduce((sum, width) => sum + width + 2, 0);
  // Columns that leave no room even for themselves stand as close as they can.
  const isTight = wraps === true && left > columns;
  const before = row.slice(0, -1).flatMap((cell, index) => {
    const text = textOf(cell);
    if (isTight && text === "") return [];
    return [painted(cell, isTight ? text : padEnd(text, widths[index] ?? 0), paint)];
  });
  const room = columns - left;
  const text = last === undefined ? "" : textOf(last);
  const lines = wraps === true ? wrapText(text, room, maxLines) : [fitLine(text, Math.max(8, room))];
  const tail = lines.map((line) => last === undefined ? line : painted(last, line, paint));
  const begin = (cells: readonly string[]) => (" ".repeat(indent) + cells.join("  ")).trimEnd();
  if (wraps !== true || lines.length < 2 || room >= leastRoom) {
    return [begin([...before, ...tail.slice(0, 1)]), ...tail.slice(1).map((line) => " ".repeat(left) + line)];
  }
  // Too little room beside the other columns: the text gets lines of its own.
  const below = wrapText(text, columns - indent - 4, maxLines);
  return [begin(before), ...below.map((line) => " ".repeat(indent + 4) + painted(last!, line, paint))];
}

/** Fewest columns in which a text is wrapped beside others. */
const leastRoom = 32;
const maxLines = 50;

function painted(cell: Cell, text: string, paint: Paint): string {
  return typeof cell === "string" ? text : paint(cell.tone, text);
}

/** Cleans every cell, so that no column can be forgotten; clean text stays as it is. */
function textOf(cell: Cell): string {
  return safeLine(typeof cell === "string" ? cell : cell.text);
}
