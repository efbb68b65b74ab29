import { describe, expect, test } from "vitest";
import { fitsSchema } from "../../../core/ground/checks/fits-schema.ts";
import { outputSchemaFaults } from "../../../core/ground/checks/schema-faults.ts";

const nested = (levels: number): object => (levels === 0 ? {} : { not: nested(levels - 1) });

describe("outputSchemaFaults", () => {
  test.each([
    ["a plain one", { type: "object", properties: { a: { type: ["string", "null"] } }, required: ["a"] }],
    ["places in itself", { $ref: "#/$defs/a~1b%25", $defs: { "a/b%": { items: { $ref: "#" } } } }],
    ["words that are no keywords", { "x-mine": { $ref: "http://far" }, default: { type: 1 }, const: { $id: 1 } }],
    ["a draft", { $schema: "http://json-schema.org/draft-07/schema#", items: [true, { pattern: "^a" }] }],
  ])("takes %s", (_name, schema) => {
    expect(outputSchemaFaults(schema)).toEqual([]);
  });

  test.each([
    ["another document", { properties: { a: { $ref: "https://example.com/s.json" } } }, ["properties", "a", "$ref"]],
    ["a file", { allOf: [{ $ref: "file:///etc/passwd" }] }, ["allOf", 0, "$ref"]],
    ["a place that is not there", { $ref: "#/$defs/a" }, ["$ref"]],
    ["a broken address", { $ref: "#/%E0%A4%A" }, ["$ref"]],
    ["a base of its own", { $id: "https://example.com/" }, ["$id"]],
    ["a moving place", { $dynamicRef: "#a" }, ["$dynamicRef"]],
    ["no regular expression", { patternProperties: { "(": true } }, ["patternProperties"]],
    ["a type that is none", { items: { type: "strnig" } }, ["items", "type"]],
    ["numbers for schemas", { properties: { a: 5 } }, ["properties", "a"]],
    ["a depth without end", nested(200), []],
    ["a size without end", { enum: ["a".repeat(70_000)] }, []],
  ])("refuses %s", (_name, schema, path) => {
    expect(outputSchemaFaults(schema)).toMatchObject([{ path }]);
  });

  test("a pattern with ten thousand brackets is a fault and no crash", () => {
    expect(outputSchemaFaults({ pattern: "(".repeat(30_000) + ")".repeat(30_000) }).length).toBeLessThan(2);
  });
});

describe("fitsSchema", () => {
  const schema = {
    $defs: { name: { type: "string", minLength: 2 } },
    type: "object",
    properties: { names: { type: "array", items: { $ref: "#/$defs/name" } } },
    required: ["names"],
  };

  test("says where data does not fit", async () => {
    expect(await fitsSchema({ schema, data: { names: ["Ada", "Bo"] } })).toBeNull();
    expect(await fitsSchema({ schema, data: { names: ["Ada", 7] } })).toMatch(/^#\/names\/1: /);
    expect(await fitsSchema({ schema, data: 7 })).toContain("object");
  });

  const doubled = Object.fromEntries(
    Array.from({ length: 60 }, (_one, at) => [`a${at}`, { anyOf: [ref(at + 1), ref(at + 1)] }]),
  );
  test.each([
    ["a pattern without end", { pattern: "^(a+)+$" }, "a".repeat(60) + "!"],
    ["a tree of references", { ...ref(0), $defs: { ...doubled, a60: { not: {} } } }, 1],
    ["a circle", { allOf: [{ $ref: "#" }] }, 1],
    ["a wide circle", { anyOf: [{ $ref: "#" }, { $ref: "#" }] }, 1],
    ["unique things", { uniqueItems: true }, Array.from({ length: 60_000 }, (_one, at) => ({ at }))],
    ["many tests of many things", {
      items: { allOf: Array.from({ length: 3000 }, () => ({ type: "integer" })) },
    }, Array.from({ length: 200_000 }, () => 1)],
    ["odd names", JSON.parse('{"properties":{"__proto__":{"type":"string"}},"required":["constructor"]}'), {}],
  ])("%s neither hangs nor ends the host", async (_name, schema, data) => {
    expect(outputSchemaFaults(schema)).toEqual([]);
    let turns = 0;
    const timer = setInterval(() => turns++, 5);
    const begun = performance.now();
    expect(await fitsSchema({ schema, data }, { ms: 400 })).toEqual(expect.any(String));
    const took = performance.now() - begun;
    clearInterval(timer);
    expect(took).toBeLessThan(8000);
    // What comes before the limit may come before a first tick, on a busy machine too.
    expect(turns).toBeGreaterThan(took >= 400 ? 0 : -1);
  });
});

function ref(at: number): { $ref: string } {
  return { $ref: `#/$defs/a${at}` };
}
