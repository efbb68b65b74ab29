import { describe, expect, it } from "vitest";
import { checkPluginConfig, configSchemaFaults } from "../../../core/packages/manifest/plugin-config.ts";
import type { ConfigSchema, OptionSchema } from "../../../plugin-sdk/manifest.ts";

const schema: ConfigSchema = {
  type: "object",
  properties: {
    text: { type: "string", min_length: 2, max_length: 4 },
    choice: { type: "string", enum: ["a", "b"], default: "a" },
    colour: { type: "string", enum: ["red", "green"] },
    depth: { type: "integer", minimum: 1, maximum: 9, default: 3 },
    ratio: { type: "number", maximum: 1 },
    on: { type: "boolean", default: false },
    tags: { type: "array", max_length: 2, default: ["x"] },
  },
  required: ["text", "depth"],
};

describe("checkPluginConfig", () => {
  it("fills in defaults, each time anew", () => {
    const values = checkPluginConfig(schema, { text: "ab", ratio: 0.5 });
    expect(values).toEqual({ text: "ab", ratio: 0.5, choice: "a", depth: 3, on: false, tags: ["x"] });
    expect(values["tags"]).not.toBe(schema.properties["tags"]?.default);
  });

  const nested: ConfigSchema = {
    type: "object",
    properties: {
      any: { type: "object" },
      place: { type: "object", properties: { x: { type: "integer" }, y: { type: "integer" } }, required: ["x"] },
      rules: {
        type: "array",
        items: { type: "object", properties: { name: { type: "string", min_length: 1 } }, required: ["name"] },
        max_length: 2,
      },
      counts: { type: "array", items: { type: "integer", minimum: 1 } },
    },
  };

  it("takes objects and lists of them", () => {
    const values = { any: { a: [{ b: 1 }] }, place: { x: 1 }, rules: [{ name: "a" }, { name: "b" }], counts: [1, 2] };
    expect(checkPluginConfig(nested, values)).toEqual(values);
    expect(configSchemaFaults(nested)).toEqual([]);
  });

  let deep: object = {};
  for (let level = 0; level < 10_000; level++) deep = { deep };
  it.each([
    [{ any: [] }, "option any: expected an object, found a list"],
    [{ any: deep }, "option any: expected an object, found"],
    [{ place: { y: 1 } }, "option place: expected an object with x: integer, y?: integer, found"],
    [{ place: { x: 1, z: 1 } }, "option place: expected an object with"],
    [{ place: { x: "1" } }, "option place: expected an object with"],
    [
      { rules: [{ name: "" }] },
      "expected a list, of each an object with name: string of at least 1 characters of at most 2 items, found a list",
    ],
    [{ rules: [{ name: "a" }, {}] }, "option rules"],
    [{ counts: [0] }, "option counts: expected a list, of each integer of at least 1, found a list"],
  ])("refuses what does not fit an object, %#", (values, message) => {
    expect(() => checkPluginConfig(nested, values)).toThrow(message);
  });

  it("finds faults in the fields of an object and the items of a list", () => {
    const properties: Record<string, OptionSchema> = {
      a: { type: "object", properties: { x: { type: "boolean", minimum: 1 } }, required: ["y"] },
      b: { type: "array", items: { type: "string", minimum: 1 } },
      c: { type: "string", items: { type: "string" }, properties: {} },
      d: { type: "object", default: 5 },
    };
    expect(configSchemaFaults({ type: "object", properties }).map(({ path }) => path.slice(2).join("."))).toEqual([
      "a.properties.x.minimum",
      "a.required.0",
      "b.items.minimum",
      "c.items",
      "c.properties",
      "d.default",
    ]);
  });

  it("reads the text of a variable as the number or boolean that an option is", () => {
    const isText = (option: string) => option !== "ratio";
    const given = { text: "12", depth: "7", on: "true" };
    expect(checkPluginConfig(schema, given, { isText })).toMatchObject({ text: "12", depth: 7, on: true });
    expect(() => checkPluginConfig(schema, { text: "ab", ratio: "0.5" }, { isText })).toThrow("option ratio");
    expect(() => checkPluginConfig(schema, { text: "ab", depth: "7x" }, { isText })).toThrow("option depth");
  });

  it("shows no value that may be a secret", () => {
    const keyed: ConfigSchema = {
      type: "object",
      properties: { api_key: { type: "string" }, token: { type: "string", enum: ["red"] }, url: { type: "integer" } },
    };
    const check = (values: Record<string, unknown>, hides?: (option: string) => boolean) =>
      expect(() => checkPluginConfig(keyed, values, hides === undefined ? {} : { hides }));
    check({ api_key: 12345 }).toThrow("option api_key: expected string, found something else");
    check({ token: "rde" }).toThrow(/expected "red", found something else$/);
    check({ url: "a:b@c" }).toThrow('found string "a:b@c"');
    check({ url: "a:b@c" }, (option) => option === "url").toThrow("option url: expected integer, found something else");
  });

  it.each([
    [{}, "option text: expected string of 2 to 4 characters, found nothing"],
    [{ text: "a" }, 'option text: expected string of 2 to 4 characters, found string "a"'],
    [{ text: 5 }, "option text: expected string of 2 to 4 characters, found number 5"],
    [{ text: "ab", choice: "c" }, 'option choice: expected "a" or "b", found string "c"'],
    [
      { text: "ab", colour: "gren" },
      'option colour: expected "red" or "green", found string "gren"; did you mean "green"?',
    ],
    [{ text: "ab", depth: 10 }, "option depth: expected integer of 1 to 9, found number 10"],
    [{ text: "ab", depth: 1.5 }, "option depth: expected integer of 1 to 9, found number 1.5"],
    [{ text: "ab", depth: Number.NaN }, "option depth: expected integer of 1 to 9, found number NaN"],
    [{ text: "ab", ratio: 2 }, "option ratio: expected number of at most 1, found number 2"],
    [{ text: "ab", on: "no" }, 'option on: expected boolean, found string "no"'],
    [{ text: "ab", tags: [1] }, "option tags: expected a list of strings of at most 2 items, found a list"],
    [{ text: "ab", tags: ["a", "b", "c"] }, "option tags: expected a list of strings of at most 2 items, found a list"],
    [{ text: "ab", text2: 1 }, 'option text2: expected a declared option, found "text2"; did you mean "text"?'],
    [{ text: "ab", toString: 1 }, 'option toString: expected a declared option, found "toString"'],
    [{ text: null }, "option text: expected string of 2 to 4 characters, found nothing"],
  ])("refuses %j", (values, message) => {
    expect(() => checkPluginConfig(schema, values)).toThrow(message);
  });

  it("lists all faults, where and under the code it is told", () => {
    const check = () =>
      checkPluginConfig(schema, { depth: 0 }, { code: "invalid_request", where: ({ option }) => `params.${option}` });
    expect(check).toThrow(
      "params.text: expected string of 2 to 4 characters, found nothing\nparams.depth: expected integer of 1 to 9, found number 0",
    );
    expect(check).toThrow(
      expect.objectContaining({ code: "invalid_request", details: { options: ["text", "depth"] } }),
    );
  });

  it("allows no options without a schema", () => {
    expect(checkPluginConfig(undefined, {})).toEqual({});
    expect(() => checkPluginConfig(undefined, { a: 1 })).toThrow('option a: expected no options, found "a"');
  });
});

describe("configSchemaFaults", () => {
  const faults = (option: OptionSchema) =>
    configSchemaFaults({ type: "object", properties: { x: option } }).map(({ path }) => path.slice(3).join("."));

  it("passes a sound schema", () => {
    expect(configSchemaFaults(schema)).toEqual([]);
  });

  it.each<[OptionSchema, string[]]>([
    [{ type: "string", minimum: 1 }, ["minimum"]],
    [{ type: "integer", min_length: 1 }, ["min_length"]],
    [{ type: "boolean", max_length: 1 }, ["max_length"]],
    [{ type: "array", enum: ["a"] }, ["enum"]],
    [{ type: "number", minimum: 2, maximum: 1 }, ["maximum"]],
    [{ type: "string", min_length: 2, max_length: 1 }, ["max_length"]],
    [{ type: "integer", enum: [1, 1.5, "a"] }, ["enum.1", "enum.2"]],
    [{ type: "string", enum: ["a"], default: "b" }, ["default"]],
    [{ type: "integer", maximum: 3, default: 4 }, ["default"]],
    [{ type: "array", default: "a" }, ["default"]],
  ])("finds %j", (option, expected) => {
    expect(faults(option)).toEqual(expected);
  });

  it("finds a required name that is not declared", () => {
    expect(configSchemaFaults({ type: "object", properties: {}, required: ["y"] })[0]?.path).toEqual([
      "config",
      "required",
      0,
    ]);
  });
});
