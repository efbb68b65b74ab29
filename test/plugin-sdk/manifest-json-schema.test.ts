import { Kind, type TSchema } from "@sinclair/typebox";
import { describe, expect, test } from "vitest";
import { manifestSchema } from "../../plugin-sdk/manifest.ts";
import { manifestJsonSchema } from "../../plugin-sdk/manifest-json-schema.ts";

describe("manifestJsonSchema", () => {
  const own: TSchema = manifestSchema;
  const schema = manifestJsonSchema();
  const properties = schema["properties"] as Record<string, Record<string, unknown>>;

  test("is a titled JSON Schema 2020-12 document of plain JSON", () => {
    expect(schema).toMatchObject({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      $id: "urn:bulkhead:plugin-manifest:1",
      title: expect.any(String),
      description: expect.any(String),
      type: "object",
      additionalProperties: false,
    });
    expect(JSON.parse(JSON.stringify(schema))).toEqual(schema);
    expect(Object.getOwnPropertySymbols(schema)).toEqual([]);
  });

  test("describes each key that a manifest has, and no other", () => {
    const keys = Object.keys(own["properties"]);
    expect(Object.keys(properties).sort()).toEqual(keys.sort());
    for (const key of keys) expect(properties[key]?.["description"], key).toEqual(expect.any(String));
  });

  test("holds what the manifest's own schema holds", () => {
    const { description: _text, ...id } = properties["id"] ?? {};
    expect(id).toEqual(JSON.parse(JSON.stringify(own["properties"].id)));
    expect(schema["required"]).toEqual(own["required"]);
  });

  test("asks for one of entry and cli", () => {
    expect(schema["oneOf"]).toEqual([
      { required: ["entry"], properties: { cli: false, normaliser: false } },
      { required: ["cli"], properties: { entry: false } },
    ]);
  });

  test("gives each caller a copy of its own and leaves the manifest's schema as it is", () => {
    (manifestJsonSchema()["properties"] as Record<string, unknown>)["id"] = {};
    expect(manifestJsonSchema()).toEqual(schema);
    expect(Kind in manifestSchema).toBe(true);
  });
});
