import { textWidth, wrapText } from "./text-width.ts";

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
  if (command !== undefined && why !== undefined) return [indent + command, `${indent}    ${why}`];
  // A command stays whole, to be copied.
  return textWidth(line) <= columns || line.startsWith(" ") ? [line] : wrapText(line, columns, 20);
}
