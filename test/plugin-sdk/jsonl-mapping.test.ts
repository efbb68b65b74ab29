import { Value } from "@sinclair/typebox/value";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { buildEvent, isMappable } from "../../plugin-sdk/event-building.ts";
import { adapterEventSchemas, adapterEventTypes } from "../../plugin-sdk/events.ts";
import { checkMappingRules, mapJson, mapJsonLine, readPath } from "../../plugin-sdk/jsonl-mapping.ts";
import type { MappingRule } from "../../plugin-sdk/manifest.ts";
import { fullEvents } from "./examples.ts";

const rules: MappingRule[] = [
  { when: { type: "text" }, event: { type: "output", data: "$.text" } },
  { when: { type: "tool" }, event: { type: "tool_call", call_id: "$.id", tool: "$.name", input: { cmd: "$.a.0.c" } } },
  { when: { type: "end" }, event: { type: "completed", output: "$.result", tokens_used: "$.usage.total" } },
  { when: { "usage.total": "*" }, event: { type: "usage", tokens_in: "$.usage.total", model: "$$.not-a-path" } },
  { when: { type: null, ok: false }, event: { type: "error", message: "$.why" } },
];

describe("mapJsonLine", () => {
  test.each<[string, object, object[]]>([
    ["a field by path", { type: "text", text: "hi" }, [{ type: "output", stream: "stdout", data: "hi" }]],
    ["inner paths and defaults", { type: "tool", id: 7, name: "sh", a: [{ c: "ls" }] }, [
      { type: "tool_call", call_id: "7", tool: "sh", kind: "other", input: { cmd: "ls" } },
    ]],
    ["every rule that matches, in order", { type: "end", result: "ok", usage: { total: 5 } }, [
      { type: "completed", success: true, output: "ok", files_changed: [], tokens_used: 5, cost: null },
      {
        type: "usage",
        scope: "session",
        tokens_in: 5,
        tokens_out: null,
        tokens_cached: null,
        cost: null,
        model: "$.not-a-path",
      },
    ]],
    ["conditions on null and false", { type: null, ok: false, why: "broken" }, [
      { type: "error", code: "fatal", message: "broken", recoverable: false },
    ]],
  ])("maps %s", (_what, line, events) => expect(mapJsonLine(JSON.stringify(line), rules)).toEqual(events));

  test("leaves out an optional field whose path leads nowhere", () => {
    expect(mapJsonLine('{"type":"end"}', rules)).toEqual([
      { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null },
    ]);
  });

  test.each([{ type: "other" }, { type: "text" }, { type: "text", text: { a: 1 } }, { type: "tool" }, [1], 5, null])(
    "keeps %j, which no rule makes an event of, as unparsed",
    (data) => expect(mapJsonLine(JSON.stringify(data), rules)).toEqual([{ type: "unparsed", data }]),
  );

  test("gives a line that is not JSON as output, and nothing for a blank one", () => {
    expect(mapJsonLine("Loading {", rules)).toEqual([{ type: "output", stream: "stdout", data: "Loading {\n" }]);
    expect(mapJsonLine("  ", rules)).toEqual([]);
  });

  test("keeps a part of an object, which no program says as its answer", () => {
    expect(mapJsonLine('{"type":"te', rules)).toEqual([{ type: "unparsed", data: '{"type":"te' }]);
  });

  test("gives an event for each entry of a list, and loses none that no rule knows", () => {
    const each: MappingRule[] = [
      { when: { type: "said", "content.*.type": "text" }, event: { type: "output", data: "$.content.*.text" } },
      {
        when: { type: "said", "content.*.type": "tool", "content.*.id": "*" },
        event: { type: "tool_call", call_id: "$.content.*.id", tool: "$.tool", input: { all: ["$.content.*.in"] } },
      },
    ];
    const content = [{ type: "tool", id: "a", in: 1 }, { type: "text", text: "hi" }, { type: "tool", id: "b" }, {
      type: "x",
    }];
    const called = { type: "tool_call", tool: "sh", kind: "other" };
    expect(mapJson({ type: "said", tool: "sh", content }, each)).toEqual([
      { type: "output", stream: "stdout", data: "hi" },
      { ...called, call_id: "a", input: { all: [1] } },
      { ...called, call_id: "b", input: { all: [null] } },
      { type: "unparsed", data: { type: "x" } },
    ]);
    for (
      const data of [{ type: "said", content: [] }, { type: "said", content: { type: "text" } }, {
        type: "heard",
        content,
      }]
    ) {
      expect(mapJson(data, each)).toEqual([{ type: "unparsed", data }]);
    }
  });

  test("is not fooled by inherited members or by a __proto__ in the line", () => {
    const trap: MappingRule[] = [
      { when: { "constructor.name": "*" }, event: { type: "output", data: "1" } },
      { when: { "a.length": "*" }, event: { type: "output", data: "2" } },
      { when: { "__proto__.x": "*" }, event: { type: "unparsed", data: { y: "$.__proto__" } } },
    ];
    expect(mapJsonLine('{"a":[1]}', trap)).toEqual([{ type: "unparsed", data: { a: [1] } }]);
    expect(mapJsonLine('{"__proto__":{"x":1}}', trap)).toEqual([{ type: "unparsed", data: { y: { x: 1 } } }]);
    expect(({} as Record<string, unknown>)["x"]).toBeUndefined();
  });

  test("gives only events that fit their schemas, whatever the line and the rules hold", () => {
    const text = fc.oneof(fc.string({ maxLength: 8 }), fc.constantFrom("$.a", "$.a.0", "$.b", "$$", "$.", "USD"));
    const value = fc.oneof(text, fc.jsonValue({ maxDepth: 2 }), fc.constant("x".repeat(2000)));
    const field = fc.constantFrom(...new Set(Object.values(fullEvents).flatMap((event) => Object.keys(event))));
    const rule = fc.record({
      when: fc.constantFrom<MappingRule["when"]>({}, { a: "*" }),
      event: fc.tuple(fc.constantFrom(...adapterEventTypes), fc.dictionary(field, value, { maxKeys: 5 }))
        .map(([type, more]) => ({ ...more, type })),
    });
    const line = fc.record({ a: fc.jsonValue({ maxDepth: 2 }), b: fc.jsonValue({ maxDepth: 2 }) }, {
      requiredKeys: [],
    });
    fc.assert(fc.property(line, fc.array(rule, { maxLength: 5 }), (data, some) => {
      for (const event of mapJson(data, some)) {
        expect([event, [...Value.Errors(adapterEventSchemas[event.type], event)]]).toEqual([event, []]);
      }
    }));
  });
});

describe("buildEvent", () => {
  test("builds every full example of what can be mapped, unchanged", () => {
    for (const event of Object.values(fullEvents)) {
      expect(buildEvent({ ...event })).toEqual(isMappable(event.type) ? event : null);
    }
  });

  test("drops fields the event does not have and refuses one in a wrong form", () => {
    expect(buildEvent({ type: "progress", message: "m", extra: 1 })).toEqual({ type: "progress", message: "m" });
    expect(buildEvent({ type: "progress", message: "m", percentage: 101 })).toBeNull();
    expect(buildEvent({ type: "agent_info", tools: [1] })).toBeNull();
  });

  test("reads a plan leniently and refuses one that is none", () => {
    expect(buildEvent({ type: "plan", entries: [{ content: "a", status: "done", priority: 1 }] })).toEqual({
      type: "plan",
      entries: [{ content: "a", status: "pending" }],
    });
    expect(buildEvent({ type: "plan", entries: [{ title: "a" }] })).toBeNull();
  });
});

describe("checkMappingRules", () => {
  test("accepts rules for events that can be mapped", () => expect(checkMappingRules(rules)).toBeUndefined());

  test.each([{}, { type: "nothing" }, { type: "$.type" }, { type: "permission_request" }, { type: "question" }])(
    "refuses the event %j and says which rule",
    (event) => {
      expect(() => checkMappingRules([...rules, { when: {}, event }])).toThrow(
        expect.objectContaining({
          code: "invalid_manifest",
          details: { rule: 5 },
          message: expect.stringContaining("rule 6"),
        }),
      );
    },
  );
});

describe("checkMappingRules of an event's fields", () => {
  test.each([
    [{ type: "thinking", contents: "$.text" }, "contents", 'rule 1: "thinking" has no field "contents"'],
    [{ type: "thinking" }, undefined, 'rule 1: "thinking" needs the field "content"'],
    [{ type: "tool_result", output: "$.a" }, undefined, 'needs the field "call_id"'],
    [{ type: "output", data: "$.a.*.b" }, undefined, 'no condition of it names the entries of "a"'],
  ])("refuses %j", (event, field, message) => {
    expect(() => checkMappingRules([{ when: {}, event }])).toThrow(expect.objectContaining({
      code: "invalid_manifest",
      details: { rule: 0, ...(field === undefined ? {} : { field }) },
      hint: expect.any(String),
      message: expect.stringContaining(message),
    }));
  });
});

describe("readPath", () => {
  test("finds what stands there and nothing else", () => {
    const data = { a: { b: [{ c: null }] }, "": { "": 1 } };
    expect(readPath(data, "a.b.0.c")).toBeNull();
    expect(readPath(data, ".")).toBe(1);
    for (const path of ["a.c", "a.b.1", "a.b.length", "a.b.map", "toString", "a.b.0.c.d"]) {
      expect(readPath(data, path), path).toBeUndefined();
    }
  });
});
