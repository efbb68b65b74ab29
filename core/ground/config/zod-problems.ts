import type * as z from "zod";
import { jsonKind, type SchemaShape } from "./describe-schema.ts";
import { describeFound, didYouMean, type KeyPath, pathText, type Problem } from "./yaml-problems.ts";
import type { ParsedYaml } from "./yaml.ts";

type Issue = z.core.$ZodIssue;

/**
 * Converts zod's issues to problems with their places in the file. `shape` is the schema as JSON Schema, for its known
 * keys.
 */
export function zodProblems(issues: readonly Issue[], parsed: ParsedYaml, shape: SchemaShape): Problem[] {
  return issues.flatMap((issue) => [...faults(issue, [], parsed.value)]).map(({ path, of, found, expected }) => {
    const unknown = of === "key" && expected === undefined;
    const hint = unknown
      ? didYouMean(String(path.at(-1)), knownKeys(shape, path.slice(0, -1), parsed.value))
      : undefined;
    return {
      file: parsed.file,
      ...parsed.locate(path, of),
      path: pathText(path),
      expected: expected ?? "a known key",
      found,
      ...(hint === undefined ? {} : { hint }),
    };
  });
}

interface Fault {
  path: KeyPath;
  of: "value" | "key";
  /** Absent: a known key. */
  expected?: string;
  found: string;
}

function* faults(issue: Issue, above: KeyPath, root: unknown): Generator<Fault> {
  const path = [...above, ...issue.path] as KeyPath;
  const value = valueAt(root, path);
  if (issue.code === "unrecognized_keys") {
    for (const key of issue.keys) yield { path: [...path, key], of: "key", found: JSON.stringify(key) };
  } else if (issue.code === "invalid_key") {
    const expected = keyExpected(issue.issues);
    yield { path, of: "key", expected, found: JSON.stringify(path.at(-1)) };
  } else if (issue.code === "invalid_union") {
    // Report only the branch that the value was meant for: the one that accepts its type.
    const meant = issue.errors.filter((errors) =>
      !errors.some((error) => error.code === "invalid_type" && error.path.length === 0)
    );
    if (meant.length === 1) { for (const inner of meant[0]!) yield* faults(inner, path, root); }
    else yield { path, of: "value", expected: unionExpected(issue.errors), found: describeFound(value) };
  } else {
    yield { path, of: "value", expected: expectedOf(issue), found: foundOf(issue, value) };
  }
}

function expectedOf(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type":
      return kindName(issue.expected);
    case "invalid_value":
      return issue.values.map((value) => JSON.stringify(value)).join(" or ");
    case "too_small":
      return sizeName(issue.origin, `at least ${issue.minimum}`);
    case "too_big":
      return sizeName(issue.origin, `at most ${issue.maximum}`);
    case "custom":
      return typeof issue.params?.["expected"] === "string" ? issue.params["expected"] : issue.message;
    default:
      return issue.message;
  }
}

function kindName(kind: string): string {
  return { object: "a map", record: "a map", array: "a list", int: "integer", null: "nothing" }[kind] ?? kind;
}

function sizeName(origin: string, bound: string): string {
  if (origin === "string") return `string of ${bound} characters`;
  if (origin === "array") return `a list of ${bound} items`;
  return `${origin === "int" ? "integer" : origin} of ${bound}`;
}

function foundOf(issue: Issue, value: unknown): string {
  if ((issue.code === "too_big" || issue.code === "too_small") && Array.isArray(value)) {
    return `a list of ${value.length}`;
  }
  return describeFound(value);
}

function keyExpected(issues: readonly Issue[]): string {
  const custom = issues.find((issue) => issue.code === "custom");
  return custom ? expectedOf(custom) : "an id of lowercase letters, digits and single hyphens";
}

function unionExpected(errors: readonly (readonly Issue[])[]): string {
  return [...new Set(errors.flatMap((branch) => branch.filter((issue) => issue.path.length === 0).map(expectedOf)))]
    .join(" or ");
}

function valueAt(root: unknown, path: KeyPath): unknown {
  return path.reduce<unknown>((here, key) => {
    return typeof here === "object" && here !== null && Object.hasOwn(here, key) ? Reflect.get(here, key) : undefined;
  }, root);
}

function knownKeys(shape: SchemaShape, path: KeyPath, root: unknown): string[] {
  let here = alternatives(shape, root);
  let value = root;
  for (const key of path) {
    value = valueAt(value, [key]);
    here = here.flatMap((one) => {
      const additional = typeof one.additionalProperties === "object" ? one.additionalProperties : undefined;
      const next = typeof key === "number" ? one.items : one.properties?.[key] ?? additional;
      return next ? alternatives(next, value) : [];
    });
  }
  return here.flatMap((one) => Object.keys(one.properties ?? {}));
}

function alternatives(shape: SchemaShape, value: unknown): SchemaShape[] {
  const all = shape.anyOf ?? shape.oneOf;
  return all ? all.filter((one) => one.type === jsonKind(value)) : [shape];
}
