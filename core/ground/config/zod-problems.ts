import type * as z from "zod";
import { choicesOf, describeSchema, jsonKind, type SchemaShape } from "./describe-schema.ts";
import { type Fault, problemsOf } from "./schema-faults.ts";
import { describeFound, didYouMean, type KeyPath, type Problem } from "./yaml-problems.ts";
import type { ParsedYaml } from "./yaml.ts";

type Issue = z.core.$ZodIssue;

/** Converts zod's issues to problems with their places in the file. `shape` is the schema as JSON Schema. */
export function zodProblems(issues: readonly Issue[], parsed: ParsedYaml, shape: SchemaShape): Problem[] {
  const source = { root: parsed.value, shape };
  return problemsOf(issues.flatMap((issue) => [...faults(issue, [], source)]), parsed);
}

/** The checked value, and its schema. */
interface Source {
  root: unknown;
  shape: SchemaShape;
}

function* faults(issue: Issue, above: KeyPath, source: Source): Generator<Fault> {
  const path = [...above, ...issue.path] as KeyPath;
  const value = valueAt(source.root, path);
  if (issue.code === "unrecognized_keys") {
    const known = shapesAt(source, path).flatMap((one) => Object.keys(one.properties ?? {}));
    for (const key of issue.keys) {
      const hint = didYouMean(key, known);
      yield { path: [...path, key], of: "key", expected: "a known key", found: JSON.stringify(key), hint };
    }
  } else if (issue.code === "invalid_key") {
    yield { path, of: "key", expected: keyExpected(issue.issues), found: JSON.stringify(path.at(-1)) };
  } else if (issue.code === "invalid_union") {
    // Report only the branch that the value was meant for: the one that accepts its type.
    const meant = issue.errors.filter((errors) =>
      !errors.some((error) => error.code === "invalid_type" && error.path.length === 0)
    );
    if (meant.length === 1) { for (const inner of meant[0]!) yield* faults(inner, path, source); }
    else yield { path, of: "value", ...expectedAt(source, path), found: describeFound(value) };
  } else {
    const own = customText(issue);
    const expected = own === undefined ? expectedAt(source, path) : { expected: own };
    yield { path, of: "value", ...expected, found: foundOf(issue, value) };
  }
}

/** Returns the text of a check of our own; undefined for a rule that JSON Schema has too. */
function customText(issue: Issue): string | undefined {
  if (issue.code !== "custom") return undefined;
  return typeof issue.params?.["expected"] === "string" ? issue.params["expected"] : issue.message;
}

function foundOf(issue: Issue, value: unknown): string {
  if ((issue.code === "too_big" || issue.code === "too_small") && Array.isArray(value)) {
    return `a list of ${value.length}`;
  }
  return describeFound(value);
}

function keyExpected(issues: readonly Issue[]): string {
  const own = issues.flatMap((issue) => customText(issue) ?? []);
  return own[0] ?? "an id of lowercase letters, digits and single hyphens";
}

function expectedAt(source: Source, path: KeyPath): Pick<Fault, "expected" | "hint"> {
  const last = path.at(-1);
  const above = last === undefined ? [] : shapesAt(source, path.slice(0, -1));
  const here = last === undefined ? [source.shape] : above.flatMap((one) => below(one, last) ?? []);
  const value = valueAt(source.root, path);
  // A value that has the kind of a branch was meant for it.
  const meant = here.map((one) => {
    const fitting = (one.anyOf ?? one.oneOf ?? []).filter(isOfKind(value));
    return fitting.length === 1 ? fitting[0]! : one;
  });
  return {
    expected: [...new Set(meant.map(describeSchema))].join(" or "),
    hint: typeof value === "string" ? didYouMean(value, meant.flatMap(choicesOf)) : undefined,
  };
}

function valueAt(root: unknown, path: KeyPath): unknown {
  return path.reduce<unknown>((here, key) => {
    return typeof here === "object" && here !== null && Object.hasOwn(here, key) ? Reflect.get(here, key) : undefined;
  }, root);
}

/** The schemas that a value at this path may follow, by the kinds of the values above it. */
function shapesAt({ root, shape }: Source, path: KeyPath): SchemaShape[] {
  let here = alternatives(shape, root);
  let value = root;
  for (const key of path) {
    value = valueAt(value, [key]);
    here = here.flatMap((one) => {
      const next = below(one, key);
      return next ? alternatives(next, value) : [];
    });
  }
  return here;
}

function below(shape: SchemaShape, key: string | number): SchemaShape | undefined {
  const additional = typeof shape.additionalProperties === "object" ? shape.additionalProperties : undefined;
  return typeof key === "number" ? shape.items : shape.properties?.[key] ?? additional;
}

function alternatives(shape: SchemaShape, value: unknown): SchemaShape[] {
  const all = shape.anyOf ?? shape.oneOf;
  return all ? all.filter(isOfKind(value)) : [shape];
}

function isOfKind(value: unknown): (shape: SchemaShape) => boolean {
  const kind = jsonKind(value);
  return ({ type }) => type === kind;
}
