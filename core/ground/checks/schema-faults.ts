import { isShallow } from "./depth.ts";

/** Most characters and levels of an output schema. */
const bounds = { characters: 65_536, depth: 48 } as const;

/** Something in a schema that the host does not take. */
export interface SchemaFault {
  path: (string | number)[];
  expected: string;
  found: string;
}

type Part = "schema" | "schemas" | "map" | "text" | "pattern" | "number" | "names" | "flag" | "list" | "type" | "ref";

const types = ["null", "boolean", "number", "integer", "string", "array", "object"];

/** Keywords by what they hold. One that does not stand here means nothing to a check. */
const keywords: Readonly<Record<string, Part>> = {
  ...group(
    "schema",
    "additionalProperties unevaluatedProperties unevaluatedItems additionalItems contains not if then",
  ),
  ...group("schema", "else propertyNames items"),
  ...group("schemas", "allOf anyOf oneOf prefixItems"),
  ...group("map", "properties patternProperties dependentSchemas $defs definitions"),
  ...group("text", "format $schema"),
  ...group("number", "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems"),
  ...group("number", "maxItems minProperties maxProperties minContains maxContains"),
  ...group("flag", "uniqueItems"),
  ...group("list", "enum"),
  ...group("names", "required"),
  pattern: "pattern",
  type: "type",
  $ref: "ref",
};

/** Keywords that lead to other documents, or to places that depend on the way to them. */
const refused = ["$id", "id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor"];

/**
 * Finds what keeps a JSON Schema of a stranger from being used: its size and depth, addresses of other documents, and
 * keywords that hold the wrong thing. What takes long to check is no fault: see `fitsSchema`.
 */
export function outputSchemaFaults(schema: unknown): SchemaFault[] {
  if (!isShallow(schema, bounds.depth)) {
    return [{ path: [], expected: `at most ${bounds.depth} levels`, found: "more" }];
  }
  const { length } = JSON.stringify(schema) ?? "";
  if (length > bounds.characters) {
    return [{ path: [], expected: `at most ${bounds.characters} characters of JSON`, found: String(length) }];
  }
  return faultsIn(schema, { path: [], root: schema });
}

interface Place {
  path: (string | number)[];
  root: unknown;
}

function faultsIn(schema: unknown, { path, root }: Place): SchemaFault[] {
  if (typeof schema === "boolean" && path.length > 0) return [];
  if (!isMap(schema)) return [{ path, expected: "a JSON Schema", found: kindOf(schema) }];
  return Object.entries(schema).flatMap(([key, value]) => {
    const place = { path: [...path, key], root };
    if (refused.includes(key)) return [{ ...place, expected: "a schema without it", found: key }];
    return Object.hasOwn(keywords, key) ? partFaults(keywords[key]!, value, place) : [];
  }).map(({ path: at, expected, found }) => ({ path: at, expected, found }));
}

function partFaults(part: Part, value: unknown, place: Place): SchemaFault[] {
  const { path, root } = place;
  const inner = (one: unknown, at: string | number) => faultsIn(one, { path: [...path, at], root });
  const unless = (holds: boolean, expected: string) => holds ? [] : [{ path, expected, found: kindOf(value) }];
  switch (part) {
    case "schema":
      return Array.isArray(value) ? value.flatMap(inner) : faultsIn(value, place);
    case "schemas":
      return Array.isArray(value) ? value.flatMap(inner) : unless(false, "a list of schemas");
    case "map": {
      if (!isMap(value)) return unless(false, "a map of schemas");
      const names = path.at(-1) === "patternProperties" ? Object.keys(value) : [];
      return [
        ...names.flatMap((name) => partFaults("pattern", name, place)),
        ...Object.entries(value).flatMap(([key, one]) => inner(one, key)),
      ];
    }
    case "text":
      return unless(typeof value === "string", "a string");
    case "pattern":
      return unless(isPattern(value), "a regular expression");
    case "number":
      return unless(typeof value === "number", "a number");
    case "flag":
      return unless(typeof value === "boolean", "true or false");
    case "list":
      return unless(Array.isArray(value), "a list");
    case "names":
      return unless(Array.isArray(value) && value.every((one) => typeof one === "string"), "a list of names");
    case "type": {
      const named = Array.isArray(value) ? value : [value];
      return unless(named.every((one) => types.includes(one)), `one of ${types.join(", ")}`);
    }
    case "ref":
      return unless(typeof value === "string" && leadsTo(root, value), "# or #/... to a place in this schema");
  }
}

/** Whether a reference leads to a place in the document. */
function leadsTo(root: unknown, ref: string): boolean {
  if (ref !== "#" && !ref.startsWith("#/")) return false;
  let value = root;
  try {
    for (const part of ref.split("/").slice(1)) {
      const key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
      if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return false;
      value = Reflect.get(value, key);
    }
  } catch {
    return false;
  }
  return isMap(value) || typeof value === "boolean";
}

/** Parses it only: what a regular expression matches is found out in a thread. */
function isPattern(value: unknown): boolean {
  if (typeof value !== "string") return false;
  try {
    return new RegExp(value, "u").unicode;
  } catch {
    return false;
  }
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function kindOf(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 64));
  if (Array.isArray(value)) return "a list";
  return value === null || typeof value !== "object" ? String(value) : "a map";
}

function group(part: Part, names: string): Record<string, Part> {
  return Object.fromEntries(names.split(" ").map((name) => [name, part]));
}
