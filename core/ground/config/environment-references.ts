import { describeFound, type KeyPath, pathText, type Problem } from "./yaml-problems.ts";
import type { ParsedYaml } from "./yaml.ts";

/** A host manifest's value with its references to the environment filled in. */
export interface Referred {
  value: unknown;
  problems: Problem[];
  /** Names of the variables that a value was made of, by the path of its key. */
  references: ReadonlyMap<string, readonly string[]>;
}

/** `${NAME}`; with two dollars it is text. */
const reference = /\$(\$\{[^}]*\}|\{([^}]*)\})/g;
const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Fills in `${NAME}` where a host manifest may depend on where it is used: a plugin's `source` and options, `state_dir`,
 * `daemon`. Permissions never do, so there it is a problem.
 */
export function fillReferences(parsed: ParsedYaml, env: (name: string) => string | undefined): Referred {
  const problems: Problem[] = [];
  const references = new Map<string, readonly string[]>();
  const fault = (path: KeyPath, words: { expected: string; found: string; hint?: string }) => {
    problems.push({ file: parsed.file, ...parsed.locate(path), path: pathText(path), ...words });
  };

  const walk = (value: unknown, path: KeyPath): unknown => {
    if (typeof value === "string") return text(value, path);
    if (Array.isArray(value)) return value.map((item, index) => walk(item, [...path, index]));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, walk(inner, [...path, key])]));
  };

  const text = (value: string, path: KeyPath): string => {
    if (isPermission(path)) {
      if (/\$\{/.test(value) && !isPattern(path)) {
        const hint = "nothing is granted by the environment";
        fault(path, { expected: "a permission written out", found: describeFound(value), hint });
      }
      return value;
    }
    if (!mayRefer(path)) return value;
    const names: string[] = [];
    const filled = value.replace(reference, (whole, escaped: string, name: string | undefined) => {
      if (name === undefined) return escaped;
      if (!variableName.test(name)) {
        fault(path, { expected: "the name of an environment variable in ${}", found: describeFound(whole) });
        return whole;
      }
      const found = env(name);
      if (found === undefined) {
        fault(path, { expected: `the environment variable ${name} to be set`, found: "none of that name" });
      }
      names.push(name);
      return found ?? whole;
    });
    if (names.length > 0) references.set(pathText(path), names);
    return filled;
  };

  return { value: walk(parsed.value, []), problems, references };
}

function isPermission(path: KeyPath): boolean {
  return (path[0] === "plugins" || path[0] === "tools") && (path[2] === "grant" || path[2] === "deny");
}

/** The arguments of a program have braces of their own. */
function isPattern(path: KeyPath): boolean {
  return path[3] === "run" && path[5] === "args";
}

function mayRefer(path: KeyPath): boolean {
  if (path[0] === "plugins") return path[2] === "config" || (path[2] === "source" && path.length === 3);
  return path[0] === "state_dir" || path[0] === "daemon";
}
