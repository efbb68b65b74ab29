import { cleanLine } from "./terminal-text.ts";

/** Beginnings of the line in which a runtime or a program says why it dies; a stack and a version follow. */
const why = /^(?:fatal error|panic|FATAL ERROR|[\w.]*Error(?: \[\w+\])?|error|runtime):/;

/** The last line of Node when an error ends it. */
const version = /^Node\.js v\d/;

/**
 * Picks the line that says why a program died, cleaned and cut; empty where it printed nothing.
 * @param options.of which end of its output was kept: without such a line, the line at that end counts
 */
export function tellingLine(printed: string, { of, most }: { of: "head" | "tail"; most: number }): string {
  const lines = printed.split("\n").filter((line) => line.trim() !== "" && !version.test(line));
  if (of === "tail") lines.reverse();
  const line = lines.find((one) => why.test(one)) ?? lines[0] ?? "";
  return cleanLine(line.trim(), most);
}
