import { KindGuard, type TSchema } from "@sinclair/typebox";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { lazyCheck } from "../../ground/checks/lazy-check.ts";
import { inputError } from "../../ground/config/input-error.ts";
import { didYouMean } from "../../ground/config/yaml-problems.ts";

const checks = new WeakMap<TSchema, ReturnType<typeof lazyCheck>>();

/**
 * Checks a value against a schema and returns it with the schema's type.
 * @param what begins the sentence, for example `The body`
 * @throws {BulkheadError} `invalid_request`, with the first problems in `details.problems`
 */
export function checkInput(schema: TSchema, value: unknown, what: string): unknown {
  let check = checks.get(schema);
  if (check === undefined) checks.set(schema, check = lazyCheck(schema));
  if (check().Check(value)) return value;
  throw inputError(what, schema, value);
}

/**
 * Reads a URL's query as its schema says: typed numbers and booleans, and lists from repeated names.
 * @throws {BulkheadError} `invalid_request`
 */
export function readQuery(schema: TSchema | undefined, params: URLSearchParams): unknown {
  const shapes: Record<string, TSchema> = schema !== undefined && KindGuard.IsObject(schema) ? schema.properties : {};
  const values: Record<string, unknown> = Object.create(null);
  for (const name of new Set(params.keys())) {
    const shape = Object.hasOwn(shapes, name) ? shapes[name] : undefined;
    const all = params.getAll(name);
    if (shape === undefined) throw unknownName(name, Object.keys(shapes));
    if (shape["type"] === "array") values[name] = all;
    else if (all.length > 1) throw new BulkheadError("invalid_request", `The query names "${name}" more than once.`);
    else values[name] = readValue(shape, all[0] ?? "");
  }
  const query = { ...values };
  return schema === undefined ? query : checkInput(schema, query, "The query");
}

function readValue(shape: TSchema, text: string): unknown {
  if (shape["type"] === "integer" && /^(0|[1-9]\d{0,15})$/.test(text)) return Number(text);
  if (shape["type"] === "boolean" && (text === "true" || text === "false")) return text === "true";
  return text;
}

function unknownName(name: string, known: readonly string[]): BulkheadError {
  const near = didYouMean(name, known);
  return new BulkheadError("invalid_request", `The query has an unknown name: "${name.slice(0, 64)}".`, {
    hint: near ?? (known.length === 0 ? "This takes no query." : `Known are: ${known.join(", ")}.`),
  });
}
