import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { nearest } from "./nearest.ts";

/** Keys and indexes from the root of a file to a value. */
export type KeyPath = readonly (string | number)[];

/** Position in a file; both count from 1, columns in UTF-16 units. */
export interface Position {
  line: number;
  column: number;
}

/** One thing wrong in a file. A type alias, so that it is JSON for `details`. */
export type Problem = {
  file: string;
  line: number;
  column: number;
  /** Path of the key as a person writes it, such as `permissions.run[0].binary`; empty for the whole file. */
  path: string;
  expected: string;
  found: string;
  /** Words for it instead of expected and found. */
  says?: string | undefined;
  hint?: string | undefined;
  /** Its line, with a caret below the place. */
  excerpt?: string | undefined;
};

/** Codes for errors about a file that a person wrote. */
export type FileErrorCode = "invalid_manifest" | "invalid_config";

const listed = 10;

/**
 * One error that lists up to ten problems, in the order of the file, and has them all in `details.problems`.
 * @param source the file's text, for excerpts of it
 */
export function problemsError(code: FileErrorCode, problems: readonly Problem[], source?: string): BulkheadError {
  // A parser may object twice to the same.
  const once = [...new Map(problems.map((problem) => [problemText(problem), problem])).values()];
  const sorted = once.sort((a, b) => a.line - b.line || a.column - b.column).map((problem, index) => {
    if (source === undefined || index >= listed) return problem;
    // An operator's file may hold secrets.
    const excerpt = excerptOf(source, problem, { masks: code === "invalid_config" });
    return excerpt === undefined ? problem : { ...problem, excerpt };
  });
  const lines = sorted.slice(0, listed).map(problemText);
  if (sorted.length > listed) lines.push(`and ${sorted.length - listed} more`);
  return new BulkheadError(code, lines.join("\n"), { details: { problems: sorted } });
}

/** A problem as one line: `plugin.yaml:7:5 permissions.run[0].binary: expected string, found number 5`. */
function problemText(problem: Problem): string {
  const place = `${problem.file}:${problem.line}:${problem.column}`;
  const path = problem.path === "" ? ":" : ` ${problem.path}:`;
  const says = problem.says ?? `expected ${problem.expected}, found ${problem.found}`;
  return `${place}${path} ${says}${problem.hint === undefined ? "" : joined(problem.hint)}`;
}

/** A hint that is a sentence follows as one. */
function joined(hint: string): string {
  return /^[A-Z]/.test(hint) ? `. ${hint}` : `; ${hint}`;
}

/** A path as a person writes it: `a.b[0].c`, with odd keys in quotes. */
export function pathText(path: KeyPath): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    if (!/^[\w-]+$/.test(part)) return `${text}[${JSON.stringify(part)}]`;
    return text === "" ? part : `${text}.${part}`;
  }, "");
}

/** Describes a value, and shows it where it is short: `number 5`, `string "abc"`, `a list`, `nothing`. */
export function describeFound(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a map";
  return `${typeof value} ${clip(typeof value === "string" ? JSON.stringify(value) : String(value))}`;
}

/** A hint that names the known key nearest to an unknown one; undefined when none is near. */
export function didYouMean(unknown: string, known: readonly string[]): string | undefined {
  const near = nearest(unknown, known);
  return near === null ? undefined : `did you mean "${near}"?`;
}

function clip(text: string): string {
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

/** Widest text of a line that is shown. */
const widest = 100;

/** Place of a problem, and its words for what is there. */
interface ExcerptPlace {
  line: number;
  column: number;
  found: string;
}

interface ExcerptOptions {
  /** Shows no value that the problem does not name: the file may hold secrets. */
  masks: boolean;
}

/** Shows the line of a problem with a caret below its place; undefined where the file has no such line. */
function excerptOf(source: string, problem: ExcerptPlace, { masks }: ExcerptOptions): string | undefined {
  const whole = source.split(/\r?\n/)[problem.line - 1];
  if (whole === undefined || whole.trim() === "") return undefined;
  const start = Math.min(problem.column - 1, whole.length);
  const { text, at } = masks ? masked(whole, { start, found: problem.found }) : { text: whole, at: start };
  const from = at < widest ? 0 : at - Math.floor(widest / 2);
  const number = String(problem.line);
  const shown = text.slice(from, from + widest).replaceAll("\t", " ");
  return `${number} | ${shown}\n${" ".repeat(number.length)} | ${" ".repeat(at - from)}^`;
}

/**
 * Hides what stands behind the first key, but for other keys and the word that the problem names itself.
 * @returns the text, and where in it the problem is
 */
function masked(text: string, { start, found }: { start: number; found: string }): { text: string; at: number } {
  const key = /:(?=\s|$)/.exec(text)?.index ?? 0;
  const word = shownWord(found);
  const quoted = /["']/.test(text[start] ?? "") ? 1 : 0;
  const end = word !== null && text.startsWith(word, start + quoted) ? start + word.length + quoted : start;
  const keys = [...text.matchAll(flowKey)].map(({ index, 0: { length } }) => [index, index + length] as const);
  const shown = [[0, key] as const, ...keys, [start, end] as const].toSorted(([a], [b]) => a - b);
  const parts: string[] = [];
  let last = 0;
  let at = 0;
  for (const [from, to] of [...shown, [text.length, text.length] as const]) {
    if (from > last) parts.push(hidden(text.slice(last, from)));
    if (from === start) at = parts.join("").length - Math.max(0, last - start);
    parts.push(text.slice(Math.max(last, from), to));
    last = Math.max(last, from, to);
  }
  return { text: parts.join(""), at };
}

/** Puts one word for each value that may be a secret, or a part of one; signs alone are none. */
function hidden(text: string): string {
  const words = text.replace(/[^\s,{}[\]"']+/g, (word) => /[\p{L}\p{N}]/u.test(word) ? "(hidden)" : word);
  return words.replace(/\(hidden\)(?: +\(hidden\))+/g, "(hidden)");
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
