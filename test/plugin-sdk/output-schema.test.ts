import { expect, test } from "vitest";
import { requestIn, type SchemaDialect } from "../../plugin-sdk/output-schema.ts";

const open: SchemaDialect = {
  keywords: ["$ref", "$defs", "additionalProperties", "anyOf", "format"],
  formats: ["date"],
};
const closed: SchemaDialect = { keywords: ["anyOf"], closed: true };
const complete: SchemaDialect = { ...closed, complete: true };
const text = { type: "string" };

function said(dialect: SchemaDialect | null, output_schema: Record<string, unknown>): unknown {
  const { prompt, output_schema: schema } = requestIn({ workdir: "/w", prompt: "go", output_schema }, dialect);
  expect(prompt === "go").toBe(schema !== undefined);
  if (schema === undefined) expect(prompt).toContain(JSON.stringify(output_schema));
  return schema;
}

test("requestIn leaves out remarks, also in a definition, and takes no name of a field for one", () => {
  const schema = {
    $schema: "x",
    type: "object",
    properties: { title: text, at: { $ref: "#/$defs/at" } },
    $defs: { at: { ...text, format: "date", default: "never" } },
  };
  const { $schema: _, ...rest } = schema;
  expect(said(open, schema)).toEqual({ ...rest, $defs: { at: { ...text, format: "date" } } });
});

test("requestIn closes what may be closed, at every level", () => {
  const inner = { type: "object", properties: { b: text } };
  const schema = { type: "object", properties: { a: { type: "array", items: inner }, c: { anyOf: [text, inner] } } };
  const shut = { ...inner, additionalProperties: false };
  const properties = { a: { type: "array", items: shut }, c: { anyOf: [text, shut] } };
  expect(said(closed, schema)).toEqual({ ...schema, properties, additionalProperties: false });
});

const object = (more: object) => ({ type: "object", properties: { a: text }, ...more });

test.each<[string, SchemaDialect | null, Record<string, unknown>]>([
  ["a list", open, { type: "array", items: text }],
  ["a choice of answers", open, object({ anyOf: [{ required: ["a"] }] })],
  ["an unknown keyword", open, object({ properties: { a: { type: "array", prefixItems: [text] } } })],
  ["an unknown format", open, object({ properties: { a: { ...text, format: "time" } } })],
  ["an object of any fields, where objects are closed", closed, { type: "object" }],
  ["one that may have others", closed, object({ additionalProperties: true })],
  ["one among others", closed, object({ properties: { a: { type: ["object", "null"] } } })],
  ["a field that may be missing, where all must be there", complete, object({ required: [] })],
  ["anything, where there is no dialect", null, object({})],
])("requestIn asks in the prompt for %s", (_name, dialect, schema) => {
  expect(said(dialect, schema)).toBeUndefined();
});

test("requestIn leaves a request without a schema alone", () => {
  const request = { workdir: "/w", prompt: "go" };
  expect(requestIn(request, closed)).toBe(request);
});
