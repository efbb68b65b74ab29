import { fieldsOf, type JsonFields } from "./json-fields.ts";
import type { SessionRequest } from "./request.ts";

/** Part of JSON Schema that a model server or a program holds its answers to. */
export interface SchemaDialect {
  /** Keywords that it knows, beside `type`, `properties`, `items`, `required` and `description`. */
  keywords: readonly string[];
  /** Values of `format` that it knows; none without the keyword. */
  formats?: readonly string[];
  /** Its objects have no other fields than those that the schema names. */
  closed?: boolean;
  /** Its objects have all fields that the schema names. */
  complete?: boolean;
}

const shared = ["type", "properties", "items", "required", "description"];
/** Keywords that hold no answer to anything. */
const remarks = ["$schema", "$comment", "title", "default", "examples", "readOnly", "writeOnly", "deprecated"];
const schemas = ["items", "additionalProperties", "contains", "propertyNames", "not", "anyOf", "oneOf", "allOf"];
const maps = ["properties", "patternProperties", "$defs", "definitions"];

/**
 * Returns a request whose `output_schema` is said in a dialect, so that all that fits it also fits the original: remarks
 * are left out, and open objects closed where the dialect has no others. What the dialect cannot say is asked for in the
 * prompt, and the request has no `output_schema` any more.
 */
export function requestIn(request: SessionRequest, dialect: SchemaDialect | null): SessionRequest {
  const { output_schema: asked, ...rest } = request;
  if (asked === undefined) return request;
  const schema = dialect === null ? null : schemaIn(dialect, asked);
  return schema === null
    ? { ...rest, prompt: `${request.prompt}\n\n${wordsForSchema(asked)}` }
    : { ...rest, output_schema: schema };
}

/** Null where the dialect cannot say it. */
function schemaIn(dialect: SchemaDialect, schema: JsonFields): JsonFields | null {
  // A whole answer is an object, and no choice between several.
  const isObject = schema["type"] === "object" && !["anyOf", "oneOf", "allOf"].some((key) => key in schema);
  const said = isObject ? saidIn(dialect, schema) : undefined;
  return said === undefined ? null : fieldsOf(said);
}

/** Asks in words for data that fits a schema, for an agent that cannot be held to it otherwise. */
export function wordsForSchema(schema: JsonFields): string {
  return `Answer with JSON alone, without any other text, that fits this JSON Schema:\n${JSON.stringify(schema)}`;
}

/** Undefined for what the dialect cannot say. */
function saidIn(dialect: SchemaDialect, schema: unknown): unknown {
  if (Array.isArray(schema)) return allOrNone(schema.map((one) => saidIn(dialect, one)));
  const fields = fieldsOf(schema);
  if (fields === null) return schema;
  const said: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(fields)) {
    if (remarks.includes(key)) continue;
    if (!shared.includes(key) && !dialect.keywords.includes(key)) {
      if (key !== "additionalProperties" || value !== false) return undefined;
    }
    if (key === "format" && !dialect.formats?.includes(String(value))) return undefined;
    const part = schemas.includes(key)
      ? saidIn(dialect, value)
      : maps.includes(key)
      ? saidOfAll(dialect, value)
      : value;
    if (part === undefined) return undefined;
    said[key] = part;
  }
  return dialect.closed ? closed(said, dialect) : said;
}

function saidOfAll(dialect: SchemaDialect, map: unknown): unknown {
  const entries = Object.entries(fieldsOf(map) ?? {}).map(([name, one]) => [name, saidIn(dialect, one)] as const);
  return entries.some(([, one]) => one === undefined) ? undefined : Object.fromEntries(entries);
}

function allOrNone(list: unknown[]): unknown[] | undefined {
  return list.includes(undefined) ? undefined : list;
}

function closed(said: Record<string, unknown>, { complete = false }: SchemaDialect): JsonFields | undefined {
  if (said["type"] !== "object") return [said["type"]].flat().includes("object") ? undefined : said;
  const names = Object.keys(fieldsOf(said["properties"]) ?? {});
  const required = Array.isArray(said["required"]) ? said["required"] : [];
  // Closed, an object of any fields would have none.
  if (names.length === 0 || (said["additionalProperties"] ?? false) !== false) return undefined;
  if (complete && names.some((name) => !required.includes(name))) return undefined;
  return { ...said, additionalProperties: false };
}
