import { asTyped } from "./as-typed.ts";
import type { Paint } from "./paint.ts";
import { textWidth } from "./text-width.ts";

interface PageOptions {
  columns: number;
  paint: Paint;
}

/** Formats a Markdown page of ours for a terminal: headings, paragraphs, lists, tables and code, nothing else. */
export function pageLines(markdown: string, { columns, paint }: PageOptions): string[] {
  const lines: string[] = [];
  for (const block of blocksOf(markdown)) {
    if (lines.length > 0) lines.push("");
    lines.push(...blockLines(block, { columns, paint }));
  }
  return lines;
}

/** Splits a page into blocks at blank lines, except inside code. */
function blocksOf(markdown: string): string[] {
  const text = markdown.replaceAll(/<!--[\s\S]*?-->/g, "").replaceAll("<br>", " ")
    .replaceAll(/<picture>[\s\S]*?alt="([^"]*)"[\s\S]*?<\/picture>/g, "Picture: $1");
  const blocks: string[] = [];
  for (const part of text.split(/(^```[\s\S]*?^```$)/m)) {
    if (part.startsWith("```")) blocks.push(part);
    else blocks.push(...part.split(/\n{2,}/).map((block) => block.replaceAll(/^\n+|\n+$/g, "")).filter(Boolean));
  }
  return blocks;
}

function blockLines(block: string, options: PageOptions): string[] {
  const { columns, paint } = options;
  if (block.startsWith("```")) {
    return block.split("\n").slice(1, -1).map((line) => paint("cyan", line === "" ? "" : `    ${line}`));
  }
  const [, heading] = /^#+ (.*)$/.exec(block) ?? [];
  if (heading !== undefined) return [paint("bold", inline(heading))];
  if (block.startsWith("|")) return tableLines(block, options);
  if (/^(?:[-*]|\d+\.) /.test(block)) {
    return block.split(/\n(?=(?:[-*]|\d+\.) )/).flatMap((item) => {
      const [, mark = "", text = ""] = /^([-*]|\d+\.) ([\s\S]*)$/.exec(item) ?? [];
      const indent = " ".repeat(mark.length + 3);
      return wrap(inline(text), columns - indent.length).map((line, index) =>
        index === 0 ? `  ${mark} ${line}` : `${indent}${line}`
      );
    });
  }
  return wrap(inline(block), columns);
}

/** Shows a row as its first cell with the others indented below it: cells may be too long for columns. */
function tableLines(block: string, { columns, paint }: PageOptions): string[] {
  const rows = block.split("\n").map((line) =>
    line.split(/(?<!\\)\|/).slice(1, -1).map((cell) => inline(cell.trim().replaceAll("\\|", "|")))
  );
  const [head = [], , ...body] = rows;
  return body.flatMap(([first = "", ...cells]) => {
    const facts = cells.flatMap((cell, index) => {
      if (cell === "") return [];
      return [cells.length === 1 ? cell : `${head[index + 1]}: ${cell}`];
    });
    return [
      ...wrap(first, columns - 2).map((line) => `  ${paint("bold", line)}`),
      ...wrap(facts.join(" · "), columns - 6).map((line) => `      ${line}`),
    ];
  });
}

/** Removes Markdown marks; a link to another page becomes the command that shows it. */
function inline(text: string): string {
  return text.replaceAll("\n", " ")
    .replaceAll(
      /\[([^\]]+)\]\(([\w-]+)\.md[^)]*\)/g,
      (_, label: string, page: string) => `${label} (${asTyped(`bulkhead help ${page}`)})`,
    )
    .replaceAll(/\[([^\]]+)\]\([^)]*\)/g, "$1")
    .replaceAll(/\*\*([^*]+)\*\*/g, "$1")
    .replaceAll(/`([^`]+)`/g, "$1")
    .replaceAll(/ {2,}/g, " ");
}

function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && textWidth(longer) > columns) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return line === "" ? lines : [...lines, line];
}
