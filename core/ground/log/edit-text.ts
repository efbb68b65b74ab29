import { isFields } from "../../../plugin-sdk/json-fields.ts";

/** A change to a file that a tool's input asks for. */
interface AskedChange {
  /** Null where the input does not say. */
  path: string | null;
  /** Lines, each behind its sign: `-`, `+` or a blank. */
  lines: string[];
}

/** Lines around a change that are shown. */
const context = 3;

/**
 * Returns the changes that a tool's input asks for, in the forms that agents use: a patch, the two sides of an edit or of
 * several, a file's whole new text, and the `diff` content of the Agent Client Protocol. Empty where it asks for none.
 */
export function askedChanges(input: unknown): AskedChange[] {
  if (!isFields(input)) return [];
  const path = textIn(input, ["file_path", "filePath", "path", "file", "abs_path"]);
  const parts = [input, ...["edits", "content"].flatMap((name) => recordsIn(input[name])), ...byPath(input["changes"])];
  return parts.flatMap((part) => {
    const lines = linesOf(part);
    return lines === null || lines.length === 0 ? [] : [{ path: textIn(part, ["path", "file_path"]) ?? path, lines }];
  });
}

/** Changes that stand under their paths, each below a word for its kind or beside it. */
function byPath(changes: unknown): Record<string, unknown>[] {
  if (!isFields(changes)) return [];
  return Object.entries(changes).flatMap(([path, change]) => {
    if (!isFields(change)) return [];
    const within = Object.values(change).filter(isFields);
    return [{ path, ...(within[0] ?? change) }];
  });
}

function linesOf(part: Readonly<Record<string, unknown>>): string[] | null {
  const patch = textIn(part, ["diff", "patch", "unified_diff"]);
  if (patch !== null) return linesIn(patch);
  const before = textIn(part, ["old_string", "oldString", "old_str", "oldText", "old_text"]);
  const after = textIn(part, ["new_string", "newString", "new_str", "newText", "new_text"]);
  if (after !== null) return sides(before ?? "", after);
  const { content } = part;
  // A tool that writes a file names it; other texts are no file.
  return typeof content === "string" && textIn(part, ["file_path", "filePath", "path"]) !== null
    ? sides("", content)
    : null;
}

/** The lines that go, then those that come; those that stay at both ends are left out, but for a few. */
function sides(before: string, after: string): string[] {
  const [old, fresh] = [linesIn(before), linesIn(after)];
  const most = Math.min(old.length, fresh.length);
  let head = 0;
  while (head < most && old[head] === fresh[head]) head++;
  let tail = 0;
  while (tail < most - head && old.at(-1 - tail) === fresh.at(-1 - tail)) tail++;
  const signed = (sign: string, lines: readonly string[]) => lines.map((line) => sign + line);
  return [
    ...signed(" ", old.slice(Math.max(0, head - context), head)),
    ...signed("-", old.slice(head, old.length - tail)),
    ...signed("+", fresh.slice(head, fresh.length - tail)),
    ...signed(" ", old.slice(old.length - tail, old.length - tail + context)),
  ];
}

function linesIn(text: string): string[] {
  return text === "" ? [] : text.replace(/\r?\n$/, "").split(/\r?\n/);
}

function textIn(fields: Readonly<Record<string, unknown>>, names: readonly string[]): string | null {
  for (const name of names) {
    const value = fields[name];
    if (typeof value === "string") return value;
  }
  return null;
}

function recordsIn(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isFields) : [];
}
