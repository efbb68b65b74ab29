import { expect, test } from "vitest";
import { omitEmpty, omitUndefined } from "../../plugin-sdk/optional-fields.ts";

test("omitUndefined leaves out undefined alone, and keeps the order of the others", () => {
  const fields = omitUndefined({ none: undefined, nothing: null, no: false, zero: 0, text: "", list: [] });
  expect(Object.entries(fields)).toEqual([["nothing", null], ["no", false], ["zero", 0], ["text", ""], ["list", []]]);
});

test("omitEmpty leaves out false, and empty texts, lists and objects as well, but no number and no null", () => {
  const empty = omitEmpty({ none: undefined, no: false, text: "", list: [], fields: {} });
  expect(Object.keys(empty)).toEqual([]);
  const full = { zero: 0, nothing: null, yes: true, text: "a", list: [undefined], fields: { a: undefined } };
  expect(omitEmpty(full)).toStrictEqual(full);
});
