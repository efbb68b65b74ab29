import type { TSchema } from "@sinclair/typebox";
import { Errors, type ValueError, ValueErrorType } from "@sinclair/typebox/errors";
import type { SchemaOf } from "../../../plugin-sdk/schema.ts";
import type { ParsedYaml } from "./yaml.ts";
import { choicesOf, describeSchema, jsonKind, type SchemaShape } from "./describe-schema.ts";
import { type Fault, problemsOf } from "./schema-faults.ts";
import {
  describeFound,
  didYouMean,
  type FileErrorCode,
  type KeyPath,
  type Problem,
  problemsError,
} from "./yaml-problems.ts";

/**
 * The parsed value as what the schema says it is.
 * @throws {BulkheadError} `code` (default `invalid_manifest`), listing every problem with its place
 */
export function checkAgainst<T>(
  schema: SchemaOf<T>,
  parsed: ParsedYaml,
  { code = "invalid_manifest" }: { code?: FileErrorCode } = {},
): T {
  const problems = schemaProblems(schema, parsed.value, { parsed });
  if (problems.length > 0) throw problemsError(code, problems, parsed.source);
  return parsed.value as T;
}

/** All problems of a value that stands at `prefix` (default: the root) of a parsed file. */
export function schemaProblems(
  schema: TSchema,
  value: unknown,
  { parsed, prefix = [] }: { parsed: ParsedYaml; prefix?: KeyPath },
): Problem[] {
  return problemsOf(faultsOf(schema, value), parsed, prefix);
}

/** Yields the schema's objections to a value, in the order of the schema. */
export function* faultsOf(schema: TSchema, value: unknown): Generator<Fault> {
  for (const error of Errors(schema, value)) {
    const path = pathOf(error.path, value);
    const shape = error.schema as SchemaShape;
    if (error.type === ValueErrorType.Union) {
      for (const fault of unionFaults(shape, error.value)) yield { ...fault, path: [...path, ...fault.path] };
    } else if (error.type === ValueErrorType.ObjectAdditionalProperties) {
      yield unknownKey(path, shape);
    } else {
      yield {
        path,
        of: "value",
        expected: describeSchema(shape),
        found: foundIn(error),
        hint: choiceHint(shape, error),
      };
    }
  }
}

function unknownKey(path: KeyPath, shape: SchemaShape): Fault {
  const known = Object.keys(shape.properties ?? {});
  const key = String(path.at(-1));
  const expected = known.length > 0 ? "a known key" : "a key of the right form";
  return { path, of: "key", expected, found: JSON.stringify(key), hint: didYouMean(key, known) };
}

/** A branch is chosen by its tag, else by the kind of the value; only that branch's faults are told. */
function* unionFaults(shape: SchemaShape, value: unknown): Generator<Fault> {
  const branches = shape.anyOf ?? [];
  const tag = tagOf(branches);
  if (tag !== undefined && jsonKind(value) === "object") {
    const name: unknown = Reflect.get(value as object, tag);
    const branch = branches.find((candidate) => candidate.properties?.[tag]?.const === name);
    if (branch) return yield* faultsOf(branch as TSchema, value);
    const choice = { anyOf: branches.flatMap((candidate) => candidate.properties?.[tag] ?? []) };
    const hint = choiceHint(choice, { value: name });
    return yield { path: [tag], of: "value", expected: describeSchema(choice), found: describeFound(name), hint };
  }
  const fitting = branches.filter((branch) => branch.const === undefined && branch.type === jsonKind(value));
  if (fitting.length === 1) return yield* faultsOf(fitting[0] as TSchema, value);
  const hint = choiceHint(shape, { value });
  yield { path: [], of: "value", expected: describeSchema(shape), found: describeFound(value), hint };
}

function choiceHint(shape: SchemaShape, { value }: { value: unknown }): string | undefined {
  return typeof value === "string" ? didYouMean(value, choicesOf(shape)) : undefined;
}

function tagOf(branches: readonly SchemaShape[]): string | undefined {
  const names = Object.keys(branches[0]?.properties ?? {});
  return names.find((name) => branches.every((branch) => branch.properties?.[name]?.const !== undefined));
}

function foundIn(error: ValueError): string {
  if (Array.isArray(error.value)) return `a list of ${error.value.length}`;
  return describeFound(error.value);
}

/** A JSON pointer as keys and indexes; the value tells which parts are indexes. */
function pathOf(pointer: string, value: unknown): KeyPath {
  let here = value;
  return pointer.split("/").slice(1).map((part) => {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    const step = Array.isArray(here) ? Number(key) : key;
    here = typeof here === "object" && here !== null ? Reflect.get(here, step) : undefined;
    return step;
  });
}
