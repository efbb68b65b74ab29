import fc from "fast-check";

/** The parts of JSON Schema that the API's own document uses. */
export interface JsonSchema {
  type?: string;
  const?: unknown;
  anyOf?: JsonSchema[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: JsonSchema | boolean;
  patternProperties?: Record<string, JsonSchema>;
  items?: JsonSchema;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
}

/** Texts that have broken other programs. */
export const hostileTexts: readonly string[] = [
  "",
  " ",
  "\0",
  "../../etc/passwd",
  "..%2f..%2f",
  "%00",
  "%",
  "__proto__",
  "constructor",
  "toString",
  "\r\nX-Injected: 1",
  "\u202e\u200b",
  "\ud800",
  "${jndi:ldap://x}",
  "' OR 1=1 --",
  "<script>alert(1)</script>",
  "9".repeat(400),
  "a".repeat(5000),
  "NaN",
  "-1",
  "1e999",
  "null",
  "[]",
  "{}",
  "/",
  "/nowhere",
];

const anyText = fc.oneof(fc.constantFrom(...hostileTexts), fc.string({ unit: "binary", maxLength: 40 }));
const anyValue: fc.Arbitrary<unknown> = fc.oneof(
  anyText,
  fc.jsonValue({ maxDepth: 4 }),
  fc.constantFrom(0, -1, 1e308, 2 ** 53, -0.5, true, null, [], {}, [[[[]]]], { a: { b: { c: {} } } }),
);

/** Values of about the right form: most fit the schema, but for the texts in them. */
export function fitting(schema: JsonSchema): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(fitting));
  switch (schema.type) {
    case "string":
      return anyText;
    case "integer":
    case "number":
      return fc.integer({ min: schema.minimum ?? -10, max: Math.min(schema.maximum ?? 100_000, 100_000) });
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    case "array":
      return fc.array(schema.items ? fitting(schema.items) : anyValue, { maxLength: 3 });
    case "object":
      return fittingObject(schema);
    default:
      return anyValue;
  }
}

function fittingObject({ properties, required = [], patternProperties }: JsonSchema): fc.Arbitrary<unknown> {
  if (properties === undefined) {
    const value = Object.values(patternProperties ?? {})[0];
    return fc.dictionary(anyText, value ? fitting(value) : anyValue, { maxKeys: 3 });
  }
  const fields = Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, fitting(schema)]));
  return fc.record(fields, { requiredKeys: required });
}

/** Values that are wrong somewhere, or everywhere. */
export function unfitting(schema: JsonSchema): fc.Arbitrary<unknown> {
  const fields = Object.keys(schema.properties ?? {});
  if (fields.length === 0) return anyValue;
  const one = fc.tuple(fitting(schema), fc.constantFrom(...fields), anyValue);
  return fc.oneof(
    one.map(([value, field, wrong]) => ({ ...value as object, [field]: wrong })),
    fc.tuple(fitting(schema), anyText, anyValue).map(([value, key, extra]) => ({ ...value as object, [key]: extra })),
    anyValue,
  );
}

/** Bodies as they are sent: JSON that fits, JSON that does not, and what is no JSON; some name a folder that is there. */
export function bodies(schema: JsonSchema, workdir: string): fc.Arbitrary<string> {
  const there = (value: unknown) =>
    typeof value === "object" && value !== null && "workdir" in value ? { ...value, workdir } : value;
  const asJson = (values: fc.Arbitrary<unknown>) => values.map((value) => JSON.stringify(value));
  const broken = fc.tuple(asJson(fitting(schema)), fc.nat()).map(([text, at]) => text.slice(0, at % (text.length + 1)));
  const few = fitting({ ...schema, properties: pick(schema.properties ?? {}, schema.required ?? []) });
  return fc.oneof(
    asJson(few.map(there)),
    asJson(fitting(schema).map(there)),
    asJson(fitting(schema)),
    asJson(unfitting(schema).map(there)),
    broken,
    anyText,
  );
}

/** Values of one parameter in a path or query. */
export function parameterTexts(schema: JsonSchema, known: readonly string[]): fc.Arbitrary<string> {
  const own = fitting(schema).map((value) => typeof value === "object" ? JSON.stringify(value) : String(value));
  return known.length === 0 ? fc.oneof(own, anyText) : fc.oneof(own, anyText, fc.constantFrom(...known));
}

function pick(fields: Record<string, JsonSchema>, names: readonly string[]): Record<string, JsonSchema> {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name)));
}
