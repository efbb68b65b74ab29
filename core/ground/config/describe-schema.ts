/** The keywords of JSON Schema that our schemas use. */
export interface SchemaShape {
  type?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: SchemaShape[];
  oneOf?: SchemaShape[];
  properties?: Record<string, SchemaShape>;
  additionalProperties?: SchemaShape | boolean;
  items?: SchemaShape;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  pattern?: string;
  /** Words for the value, with its article. */
  title?: string;
  examples?: unknown[];
}

/** Describes what a schema expects: `string`, `integer of at least 1`, `"a" or "b"`, `a list`, `a map`. */
export function describeSchema(shape: SchemaShape): string {
  if (shape.title !== undefined) {
    return shape.examples?.[0] === undefined ? shape.title : `${shape.title} such as ${String(shape.examples[0])}`;
  }
  if (shape.const !== undefined) return JSON.stringify(shape.const);
  const branches = shape.anyOf ?? shape.oneOf;
  if (branches) return [...new Set(branches.map(describeSchema))].join(" or ");
  if (shape.enum) return shape.enum.map((value) => JSON.stringify(value)).join(" or ");
  switch (shape.type) {
    case "string":
      return `string${patternText(shape.pattern)}${rangeText(shape.minLength, shape.maxLength, " characters")}`;
    case "integer":
    case "number":
      return `${shape.type}${rangeText(shape.minimum, shape.maximum, "")}`;
    case "array":
      return `a list${rangeText(shape.minItems, shape.maxItems, " items")}`;
    case "object":
      return "a map";
    case "null":
      return "nothing";
    default:
      return shape.type ?? "a value";
  }
}

/** Texts that a schema lists as choices; none where it has a form. */
export function choicesOf({ title, const: only, enum: listed, anyOf, oneOf }: SchemaShape): string[] {
  if (title !== undefined) return [];
  const choices = only === undefined ? listed : [only];
  const each = choices ?? (anyOf ?? oneOf ?? []).flatMap(choicesOf);
  return each.filter((choice) => typeof choice === "string");
}

/** JSON Schema's name for the kind of a value. */
export function jsonKind(value: unknown): string {
  if (value === null || value === undefined) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function patternText(pattern: string | undefined): string {
  return pattern === undefined ? "" : ` matching ${pattern}`;
}

function rangeText(least: number | undefined, most: number | undefined, unit: string): string {
  // "At least one character" is implied, and the greatest safe integer is a limit that the operator did not set.
  const ends = most === undefined || most === Number.MAX_SAFE_INTEGER ? undefined : most;
  const starts = least === Number.MIN_SAFE_INTEGER || (unit !== "" && least === 0) ? undefined : least;
  if (starts !== undefined && ends !== undefined) return ` of ${starts} to ${ends}${unit}`;
  if (starts !== undefined) return ` of at least ${starts}${unit}`;
  return ends === undefined ? "" : ` of at most ${ends}${unit}`;
}
