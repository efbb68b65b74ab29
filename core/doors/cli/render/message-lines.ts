import { shortIds } from "../../../ground/log/short-id.ts";
import type { ErrorData } from "../../../../plugin-sdk/errors.ts";
import { safeLine, safeText } from "./agent-text.ts";
import { asTyped } from "./as-typed.ts";
import type { Paint } from "./paint.ts";
import { withLocalTimes } from "./quantities.ts";
import { wrapLines } from "./text-width.ts";

/** Formats an error's message as lines, each problem of a file with the line that it is about, and what changed. */
export function messageLines(
  { code, message, details }: ErrorData,
  { paint, columns }: { paint: Paint; columns: number },
): string[] {
  const problems: unknown = details?.["problems"];
  const changes: unknown = code === "unaccepted_change" ? details?.["difference"] : undefined;
  return [...linesOf(shortIds(withLocalTimes(message)), { problems, paint, columns }), ...changeLines(changes, paint)];
}

function changeLines(changes: unknown, paint: Paint): string[] {
  if (!Array.isArray(changes)) return [];
  return changes.flatMap((line: unknown) => {
    if (typeof line !== "string") return [];
    return [`  ${paint(line.startsWith("-") ? "red" : line.startsWith("+") ? "green" : "dim", safeLine(line))}`];
  });
}

function linesOf(
  message: string,
  { problems, paint, columns }: { problems: unknown; paint: Paint; columns: number },
): string[] {
  return safeText(message).split("\n").flatMap((line, index) => {
    const problem: unknown = Array.isArray(problems) ? problems[index] : undefined;
    // The word before it stands in the first line as well.
    const room = columns === 0 ? 0 : Math.max(20, columns - "error: ".length);
    return [...wrapLines(line, room).split("\n"), ...excerptOf(problem).map((text) => paint("dim", `  ${text}`))];
  });
}

/**
 * Formats an error's hint as lines: sentences within so many columns; 0: nothing is wrapped. What does not end as a sentence may
 * be a command to copy, and stays whole.
 */
export function hintLines(hint: string | undefined, columns: number): string[] {
  const lines = hint?.split("\n", mostHintLines).map((line) => safeLine(asTyped(shortIds(line)))) ?? [];
  return lines.flatMap((line) => /[.?!]$/.test(line) ? wrapLines(line, columns).split("\n") : [line]);
}

const mostHintLines = 8;

function excerptOf(problem: unknown): string[] {
  const excerpt: unknown = typeof problem === "object" && problem !== null
    ? Reflect.get(problem, "excerpt")
    : undefined;
  return typeof excerpt === "string" ? safeText(excerpt).split("\n") : [];
}

/** Lists where in the author's own files an error was thrown; with `faultsOnly` only one not thrown on purpose. */
export function stackLines(
  error: ErrorData | undefined,
  { faultsOnly = false }: { faultsOnly?: boolean } = {},
): string[] {
  const stack = error?.details?.["stack"];
  if (typeof stack !== "string" || (faultsOnly && stack.startsWith("BulkheadError:"))) return [];
  return stack.split("\n").map((line) => line.trim()).filter((line) => line.startsWith("at ")).slice(0, 8).map(
    safeLine,
  );
}
