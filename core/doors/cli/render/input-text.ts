import { isFields } from "../../../../plugin-sdk/json-fields.ts";
import { askedChanges } from "../../../ground/log/edit-text.ts";
import { cleanText } from "../../../ground/log/terminal-text.ts";
import type { Paint, Tone } from "./paint.ts";
import { formatCount } from "./quantities.ts";
import { takeColumns } from "./text-width.ts";

// Input fields that say what a tool call is about, under the names that tools use.
const telling = ["command", "file_path", "path", "file", "url", "query", "pattern", "name", "description"];

/** Shortens a tool's input to a few words: its most telling value, else its fields, else the value itself. */
export function shortInput(input: unknown): string {
  if (!isFields(input)) return shortJson(input);
  for (const key of telling) {
    const value = input[key];
    if (typeof value === "string" && value !== "") return value;
  }
  return Object.entries(input).map(([key, value]) => `${key}=${shortJson(value)}`).join(" ");
}

/** Formats any JSON value on one line of at most 400 characters; a string stands for itself. */
export function shortJson(value: unknown): string {
  if (typeof value === "string") return value.slice(0, 400);
  if (value === null || value === undefined) return "";
  return (JSON.stringify(value) ?? "").slice(0, 400);
}

/** Lines that are shown at most, as the terminal has them. */
const mostLines = 30;

/**
 * Formats what a tool would do, for the person who allows it: the change to each file as a diff, else the most telling
 * part of its input. Each line stands behind a bar, so that none passes for a question.
 * @param options.most lines that are shown at most
 */
export function askedText(
  input: unknown,
  { paint, columns, most = mostLines }: { paint: Paint; columns: number; most?: number },
): string {
  if (input === undefined) return "";
  const changes = askedChanges(input);
  const lines: [Tone, string][] = changes.length === 0
    ? shortInput(input).split("\n").map((line) => ["said", line])
    : changes.flatMap(({ path, lines }) => [
      ...(path === null ? [] : [["named", path] as [Tone, string]]),
      ...lines.map((line): [Tone, string] => [toneOf(line), line]),
    ]);
  const shown: string[] = [];
  let whole = 0;
  for (; whole < lines.length && shown.length < most; whole++) {
    const [tone, line] = lines[whole]!;
    shown.push(...pieces(line, { columns: Math.max(20, columns - 5), most }).map((piece) => paint(tone, piece)));
  }
  const cut = shown.length > most;
  const more = lines.length - whole;
  const rest = more > 0 ? [`… and ${formatCount(more)} more lines`] : cut ? ["… and more of this line"] : [];
  return [...shown.slice(0, most), ...rest.map((line) => paint("dim", line))]
    .map((line) => `  ${paint("dim", "│") || "|"} ${line}\n`).join("");
}

/** Breaks a line where the terminal would: what a person allows is never cut short without a word. */
function pieces(line: string, { columns, most }: { columns: number; most: number }): string[] {
  let rest = cleanText(line.slice(0, columns * (most + 1)).replace(/\t/g, "  "));
  const found: string[] = [];
  do {
    const piece = takeColumns(rest, columns);
    found.push(piece);
    rest = piece === "" ? "" : rest.slice(piece.length);
  } while (rest !== "" && found.length <= most);
  return found;
}

function toneOf(line: string): Tone {
  return line.startsWith("+") ? "green" : line.startsWith("-") ? "red" : "thought";
}
