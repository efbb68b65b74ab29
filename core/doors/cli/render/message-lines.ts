import type { ErrorData } from "../../../../plugin-sdk/errors.ts";
import { safeText } from "./agent-text.ts";
import type { Paint } from "./paint.ts";

/** Formats an error's message as lines, each problem of a file with the line that it is about. */
export function messageLines({ message, details }: ErrorData, paint: Paint): string[] {
  const problems: unknown = details?.["problems"];
  return safeText(message).split("\n").flatMap((line, index) => {
    const problem: unknown = Array.isArray(problems) ? problems[index] : undefined;
    return [line, ...excerptOf(problem).map((text) => paint("dim", `  ${text}`))];
  });
}

function excerptOf(problem: unknown): string[] {
  const excerpt: unknown = typeof problem === "object" && problem !== null
    ? Reflect.get(problem, "excerpt")
    : undefined;
  return typeof excerpt === "string" ? safeText(excerpt).split("\n") : [];
}
