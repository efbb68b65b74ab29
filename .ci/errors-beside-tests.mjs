import { readFileSync } from "node:fs";

/**
 * Finds what vitest printed of errors that no test caught, such as a rejected promise that nobody waits for. They make a run
 * red, but no test of its report.
 * @returns file: where it came from; null where that is not known
 */
export function errorsBesideTests(log) {
  let text;
  try {
    text = readFileSync(log, "utf8");
  } catch {
    return [];
  }
  // deno-lint-ignore no-control-regex
  const [, ...parts] = text.replace(/\u001b\[[\d;]*m/g, "").split(/^⎯+ Unhandled (?!Errors).*$/m);
  return parts.map((part) => ({
    file: part.match(/This error originated in "([^"]+)" test file/)?.[1] ?? null,
    text: part.split("\n\n")[0].trim(),
  }));
}
