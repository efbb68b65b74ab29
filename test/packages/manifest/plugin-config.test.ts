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
