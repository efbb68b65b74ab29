import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { EventPacker, pieceJson, unpackEvents } from "../../../core/ground/checks/packed-events.ts";

/** Events as adapters yield them, most of them pieces, and some that only look like one. */
const anyEvent: fc.Arbitrary<object> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ type: fc.constant("output"), stream: anyOf("stdout", "stderr"), data: fc.string() }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("thinking"), content: fc.string({ unit: "binary" }) }) },
  fc.record({ type: fc.constant("thinking"), content: fc.string(), tokens_used: fc.nat() }),
  fc.record({ type: fc.constant("output"), data: fc.string(), stream: anyOf("stdout", "stderr") }),
  fc.record({ type: fc.constant("output"), stream: fc.jsonValue(), data: fc.jsonValue() }),
  fc.record({ type: anyOf("output", "thinking", "progress"), message: fc.string() }),
  fc.dictionary(fc.string(), fc.jsonValue()),
);

function anyOf(...names: string[]) {
  return fc.constantFrom(...names);
}

function packed(events: readonly object[]): string {
  const packer = new EventPacker();
  return `[${events.map((event) => packer.event(event)).join(",")}]`;
}

describe("a packed list", () => {
  test("gives back every event, and tells how many characters it saved", () => {
    fc.assert(fc.property(fc.array(anyEvent, { maxLength: 30 }), (events) => {
      const text = packed(events);
      const list = JSON.parse(text) as unknown[];
      const saved = unpackEvents(list);
      const whole = JSON.stringify(events);
      expect(JSON.stringify(list)).toBe(JSON.stringify(JSON.parse(whole)));
      expect(text.length + saved).toBe(whole.length);
    }));
  });

  test("holds pieces of one kind that follow one another as their texts alone", () => {
    const out = (data: string) => ({ type: "output", stream: "stdout", data });
    const [one, note] = [out("one"), { type: "thinking", content: "a" }];
    expect(
      packed([
        one,
        out('tw"o'),
        note,
        { ...note, content: "b" },
        out("3"),
        { type: "progress", message: "m" },
        out("4"),
      ]),
    )
      .toBe(
        `[${JSON.stringify(one)},"tw\\"o",${JSON.stringify(note)},"b",${JSON.stringify(out("3"))},` +
          `{"type":"progress","message":"m"},${JSON.stringify(out("4"))}]`,
      );
  });

  test("may be a piece of a longer list, whose other items were written elsewhere", () => {
    const packer = new EventPacker();
    const event = { type: "output", stream: "stdout", data: "x" };
    expect(packer.event(event)).toBe(JSON.stringify(event));
    packer.restart();
    expect(packer.event(event)).toBe(JSON.stringify(event));
    expect(packer.event(event)).toBe('"x"');
  });
});

describe("unpackEvents", () => {
  test("leaves a string alone that follows no piece", () => {
    const call = { type: "tool_call", call_id: "c", tool: "t", kind: "read", input: "x" };
    for (const list of [["a", "b"], [call, "a"], [null, "a"], [7, "a"], [["output"], "a"], [{ type: "output" }, "a"]]) {
      const before = structuredClone(list);
      expect(unpackEvents(list)).toBe(0);
      expect(list).toEqual(before);
    }
  });

  test("lets strings stand for nothing large: a few bytes cannot become a copy of a megabyte each", () => {
    const large = { type: "output", stream: { large: "x".repeat(1000) }, data: "", more: "x".repeat(1000) };
    for (const head of [large, { ...large, stream: "x".repeat(1000) }, { ...large, stream: "stdout" }]) {
      const list: unknown[] = [head, "a"];
      unpackEvents(list);
      expect(JSON.stringify(list[1]).length).toBeLessThan(60);
    }
    const list: unknown[] = [{ type: "thinking", content: "", tokens_used: 7, more: large }, "a"];
    unpackEvents(list);
    expect(list[1]).toEqual({ type: "thinking", content: "a" });
  });
});

describe("pieceJson", () => {
  test("is null for what only looks like a piece, and for a text that is too long", () => {
    class Output {
      type = "output";
      stream = "stdout";
      data = "x";
    }
    const event = { type: "output", stream: "stdout", data: "four" };
    expect(pieceJson(event, 4)).toEqual({ head: '{"type":"output","stream":"stdout","data":', text: '"four"' });
    expect(pieceJson(event, 3)).toBeNull();
    expect(pieceJson({ type: "thinking", content: "four" }, 3)).toBeNull();
    const odd = [
      new Output(),
      Object.create(event),
      { ...event, toJSON: () => "y" },
      { ...event, data: 1 },
      "x",
      null,
      [event],
    ];
    for (const value of odd) expect(pieceJson(value)).toBeNull();
  });
});
