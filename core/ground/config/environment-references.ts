import { describeFound, type KeyPath, pathText, type Problem } from "./yaml-problems.ts";
import type { ParsedYaml } from "./yaml.ts";

/** A host manifest's value with its references to the environment filled in. */
interface Referred {
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
  const fill = (text: string, path: KeyPath): string => {
    const fault = (words: Words) => {
      problems.push({ file: parsed.file, ...parsed.locate(path), path: pathText(path), ...words });
    };
    if (isPermission(path)) {
      if (/\$\{/.test(text) && !isPattern(path)) fault(inPermission(text));
      return text;
    }
    if (!mayRefer(path)) return text;
    const { filled, names } = fillText(isFolder(path) ? withHome(text, fault) : text, { env, fault });
    if (names.length > 0) references.set(pathText(path), names);
    return filled;
  };
  return { value: mapTexts(parsed.value, { at: [], map: fill }), problems, references };
}

type Words = { expected: string; found: string; hint?: string };

/** Returns the number or boolean that a variable's text spells; null for any other text. */
export function scalarOf(text: string): number | boolean | null {
  if (text === "true" || text === "false") return text === "true";
  return /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,14})?$/.test(text) ? Number(text) : null;
}

/** Replaces every text in plain data, by its path. */
export function mapTexts(
  value: unknown,
  { at, map }: { at: KeyPath; map(text: string, path: KeyPath): unknown },
): unknown {
  if (typeof value === "string") return map(value, at);
  if (Array.isArray(value)) return value.map((item, index) => mapTexts(item, { at: [...at, index], map }));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(entries.map(([key, inner]) => [key, mapTexts(inner, { at: [...at, key], map })]));
}

function inPermission(text: string): Words {
  const hint = "nothing is granted by the environment";
  return { expected: "a permission written out", found: describeFound(text), hint };
}

function fillText(
  text: string,
  { env, fault }: { env: (name: string) => string | undefined; fault: (words: Words) => void },
): { filled: string; names: string[] } {
  const names: string[] = [];
  const filled = text.replace(reference, (whole, escaped: string, name: string | undefined) => {
    if (name === undefined) return escaped;
    if (!variableName.test(name)) {
      fault({ expected: "the name of an environment variable in ${}", found: describeFound(whole) });
      return whole;
    }
    const found = env(name);
    if (found === undefined) {
      fault({ expected: `the environment variable ${name} to be set`, found: "none of that name" });
    }
    names.push(name);
    return found ?? whole;
  });
  return { filled, names };
}

/** A folder may lie in the operator's home, as in a shell: `~/` is `${HOME}/`. */
function withHome(text: string, fault: (words: Words) => void): string {
  if (!text.startsWith("~")) return text;
  if (text === "~" || text.startsWith("~/")) return `\${HOME}${text.slice(1)}`;
  fault({ expected: "~/ for your own home, or the folder written out", found: describeFound(text) });
  return text;
}

function isFolder(path: KeyPath): boolean {
  return path[0] === "state_dir" || path[2] === "source";
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
