import type { ErrorData } from "../../../../plugin-sdk/errors.ts";
import { safeLine, safeText } from "./agent-text.ts";
import { asTyped } from "./as-typed.ts";
import type { Paint } from "./paint.ts";

/** Formats an error's message as lines, each problem of a file with the line that it is about. */
export function messageLines({ message, details }: ErrorData, paint: Paint): string[] {
  const problems: unknown = details?.["problems"];
  return safeText(message).split("\n").flatMap((line, index) => {
    const problem: unknown = Array.isArray(problems) ? problems[index] : undefined;
    return [line, ...excerptOf(problem).map((text) => paint("dim", `  ${text}`))];
  });
}

/** Formats an error's hint as lines. They may be commands to copy, so none is shortened. */
export function hintLines(hint: string | undefined): string[] {
  return hint === undefined ? [] : hint.split("\n", mostHintLines).map((line) => safeLine(asTyped(line)));
}

const mostHintLines = 8;

function excerptOf(problem: unknown): string[] {
  const excerpt: unknown = typeof problem === "object" && problem !== null
    ? Reflect.get(problem, "excerpt")
    : undefined;
  return typeof excerpt === "string" ? safeText(excerpt).split("\n") : [];
}
