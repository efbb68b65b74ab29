import { actedOnKinds } from "./acted-on-kinds.ts";
import { absent, type Content } from "./content-state.ts";
import type { ExposedFolder } from "./exposed-folders.ts";
import { type ActedOnRecord, recordedFiles } from "./records.ts";

/** Lines of a difference that are told, and characters of each. */
const mostLines = 40;
const mostCharacters = 200;

/**
 * Compares what stands there with its record: lines that begin with `-` and `+`, or names of files; none for what may hold
 * a key.
 */
export function differenceLines(
  folder: ExposedFolder,
  { content, record }: { content: Content; record: ActedOnRecord | null },
): string[] {
  if (content.files !== undefined) {
    const before = record === null ? {} : recordedFiles(folder, record) ?? {};
    return shortened(fileLines(before, content.files));
  }
  if (record !== null && !actedOnKinds[record.kind].keepsText) return [];
  const before = record === null || record.digest === absent ? "" : record.text;
  const now = content.digest === absent ? "" : content.text;
  if (before === undefined || now === undefined) return [];
  return shortened(textLines(before, now));
}

function fileLines(before: Record<string, string>, now: Record<string, string>): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(now)])].sort();
  return names.flatMap((name) => {
    if (before[name] === now[name]) return [];
    return [before[name] === undefined ? `+ ${name}` : now[name] === undefined ? `- ${name}` : `~ ${name}`];
  });
}

/** The lines between what both texts have at their beginning and at their end. */
function textLines(before: string, now: string): string[] {
  const [old, next] = [linesOf(before), linesOf(now)];
  let start = 0;
  while (start < old.length && start < next.length && old[start] === next[start]) start++;
  let end = 0;
  while (end < old.length - start && end < next.length - start && old.at(-1 - end) === next.at(-1 - end)) end++;
  return [
    ...old.slice(start, old.length - end).map((line) => `- ${line}`),
    ...next.slice(start, next.length - end).map((line) => `+ ${line}`),
  ];
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

function shortened(lines: readonly string[]): string[] {
  const shown = lines.slice(0, mostLines).map((line) =>
    line.length > mostCharacters ? `${line.slice(0, mostCharacters)} …` : line
  );
  return lines.length > mostLines ? [...shown, `… and ${lines.length - mostLines} more lines`] : shown;
}
