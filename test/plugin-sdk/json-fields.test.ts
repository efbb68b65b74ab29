import { describe, expect, test } from "vitest";
import {
  type AdapterEvent,
  countOf,
  fieldsOf,
  fieldsOrNone,
  jsonLineEvents,
  listOf,
  numberOf,
  objectsOf,
  parseJson,
  parseJsonLine,
  stringOf,
  textOf,
} from "../../plugin-sdk/mod.ts";

const values = [undefined, null, true, "", "a", 0, 1, 1.5, -1, NaN, Infinity, [], [{ a: 1 }, 2], {}, { a: 1 }];

test("each reader takes its own kind and no other value", () => {
  const taken = (read: (value: unknown) => unknown, none: unknown) =>
    values.filter((value) => JSON.stringify(read(value)) !== JSON.stringify(none));
  expect(taken(fieldsOf, null)).toEqual([{}, { a: 1 }]);
  expect(taken(fieldsOrNone, {})).toEqual([{ a: 1 }]);
  expect(taken(listOf, [])).toEqual([[{ a: 1 }, 2]]);
  expect(taken(objectsOf, [])).toEqual([[{ a: 1 }, 2]]);
  expect(objectsOf([{ a: 1 }, 2, [3], null])).toEqual([{ a: 1 }]);
  expect(taken(stringOf, null)).toEqual(["", "a"]);
  expect(taken(textOf, undefined)).toEqual(["a"]);
  expect(taken(countOf, null)).toEqual([0, 1]);
  expect(taken(numberOf, null)).toEqual([0, 1, 1.5]);
});

test("fieldsOf copies, so that no field comes from a prototype", () => {
  const fields = fieldsOf(JSON.parse('{"__proto__": {"a": 1}}'));
  expect(fields?.["a"]).toBeUndefined();
});

test("parseJson gives undefined for what is no JSON", () => {
  expect([parseJson("[1]"), parseJson("null"), parseJson("{"), parseJson("")]).toEqual([
    [1],
    null,
    undefined,
    undefined,
  ]);
});

describe("jsonLineEvents", () => {
  const known: AdapterEvent = { type: "progress", message: "known" };
  const read = (line: string) => jsonLineEvents(line, ({ type }) => (type === "known" ? [known] : null));

  test("gives the events of an object that is known", () => {
    expect(read('{"type":"known"}')).toEqual([known]);
  });

  test.each([
    ['{"type":"other"}', { type: "other" }],
    ["[1]", [1]],
    ["null", null],
    ['{"type":"kno', '{"type":"kno'],
  ])("keeps %s", (line, data) => {
    expect(read(line)).toEqual([{ type: "unparsed", data }]);
  });

  test("takes any other line for what a program printed, and a blank one for nothing", () => {
    expect(read("warning: x")).toEqual([{ type: "output", stream: "stdout", data: "warning: x\n" }]);
    expect(read("  ")).toEqual([]);
  });
});

test.each([
  "\u001b]0;agent\u0007",
  "\u001b]0;agent\u001b\\",
  "\u001b[2K\u001b[?25l\r",
  "Update ready. ",
  "\u001b[1mhello\u001b[0m ",
])("a message is read behind %j, and a broken one is not", (before) => {
  expect(parseJsonLine(`${before}{"jsonrpc":"2.0","id":1}`)).toEqual({ jsonrpc: "2.0", id: 1 });
  expect(parseJsonLine(`${before}{"type":"result"}`)).toEqual({ type: "result" });
  expect(parseJsonLine(`${before}{"type":"result"`)).toBeUndefined();
  const [event] = jsonLineEvents(
    `${before}{"type":"result"}`,
    () => [{ type: "output", stream: "stdout", data: "read" }],
  );
  expect(event).toMatchObject({ data: "read" });
});

test.each(["\u001b[0m", "\u001b[?25h\r", "\0", "\u001b]8;;\u001b\\", "\u001b[0m \u001b(B\u0007"])(
  "a message is read before %j, and in front of other text it is not",
  (behind) => {
    expect(parseJsonLine(`{"type":"result"}${behind}`)).toEqual({ type: "result" });
    expect(parseJsonLine(`\0\u001b7{"type":"result"}${behind}`)).toEqual({ type: "result" });
    expect(parseJsonLine(`{"type":"result"}${behind}x`)).toBeUndefined();
    expect(parseJsonLine(`{"type":"result${behind}`)).toBeUndefined();
  },
);

test("nothing is read from inside a broken object", () => {
  expect(parseJsonLine(`{"x":"{"type":"result"}`)).toBeUndefined();
  expect(parseJsonLine(`\u001b[0m{"x":"{"type":"result"}`)).toBeUndefined();
});
