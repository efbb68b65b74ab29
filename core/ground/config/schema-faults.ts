import { type KeyPath, pathText, type Problem } from "./yaml-problems.ts";
import type { ParsedYaml } from "./yaml.ts";

/** A schema's objection to a value, before it is looked up in the file. */
export interface Fault {
  path: KeyPath;
  /** Whether the place is the value or its key. */
  of: "value" | "key";
  expected: string;
  found: string;
  hint?: string | undefined;
}

/** Looks faults up in their file. Of several at one path only the first is told. `prefix` is the path of the root. */
export function problemsOf(faults: Iterable<Fault>, parsed: ParsedYaml, prefix: KeyPath = []): Problem[] {
  const problems = new Map<string, Problem>();
  for (const { path: below, of, expected, found, hint } of faults) {
    const path = [...prefix, ...below];
    const text = pathText(path);
    if (problems.has(text)) continue;
    const place = { file: parsed.file, ...parsed.locate(path, of) };
    problems.set(text, { ...place, path: text, expected, found, hint });
  }
  return [...problems.values()];
}
