import { Value } from "@sinclair/typebox/value";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { buildEvent, isMappable } from "../../plugin-sdk/event-building.ts";
import { adapterEventSchemas, adapterEventTypes } from "../../plugin-sdk/events.ts";
import { checkMappingRules } from "../../plugin-sdk/check-mapping-rules.ts";
import { readPath } from "../../plugin-sdk/json-path.ts";
import { mapJson, mapJsonLine, MappingMemory } from "../../plugin-sdk/jsonl-mapping.ts";
import type { Condition, Conditions, MappingRule } from "../../plugin-sdk/mapping-rule.ts";
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

  test.each<[string, Condition, unknown[], unknown[]]>([
    ["one of a list", ["a", 1, null], ["a", 1, null], ["b", 2, undefined]],
    ["not", { not: "a" }, ["b", 1, undefined], ["a"]],
    ["none of a list", { not: ["a", 1] }, ["b", undefined], ["a", 1]],
    ["not there", { not: "*" }, [undefined], [null, 0, ""]],
    ["part of a text", { contains: "too * fast" }, ["you are TOO very Fast!"], ["fast, too", 5, undefined]],
    ["one of several parts", { contains: ["401", "login"] }, ["HTTP 401", "Login first"], ["402", 401]],
    ["a range", { from: 500, to: 599 }, [500, 550.5, 599], [499, 600, "500", undefined]],
    ["an open range", { from: 500, not: 529 }, [500, 1e9], [529, 499]],
  ])("a condition can ask for %s", (_what, wanted, fitting, other) => {
    const rule: MappingRule = { when: { x: wanted }, event: { type: "progress", message: "fits" } };
    const fits = (x: unknown) => mapJson(x === undefined ? {} : { x }, [rule])[0]?.type === "progress";
    expect(fitting.filter((x) => !fits(x))).toEqual([]);
    expect(other.filter(fits)).toEqual([]);
  });

  test("tries an else only where the rules before it, from when on, gave nothing", () => {
    const message = (text: string) => ({ type: "progress", message: text });
    const chain: MappingRule[] = [
      { when: { n: 1 }, event: message("one") },
      { else: { n: [1, 2] }, event: message("two") },
      { else: {}, event: message("other") },
      { when: { m: "*" }, event: message("m") },
      { else: { n: 3 }, event: message("three") },
    ];
    const said = (data: object) => mapJson(data, chain).map((event) => event.type === "progress" && event.message);
    expect(said({ n: 1 })).toEqual(["one"]);
    expect(said({ n: 2, m: 1 })).toEqual(["two", "m"]);
    expect(said({ n: 3 })).toEqual(["other", "three"]);
  });

  test("tries an else for each entry of a list by itself", () => {
    const call = { type: "tool_call", call_id: "$.c.*.id" };
    const each: MappingRule[] = [
      { when: { "c.*.name": ["write", "edit"] }, event: { ...call, kind: "edit" } },
      { else: { "c.*.name": "*" }, event: { ...call, kind: "other" } },
      { else: { "c.*": "*" }, ignore: true },
    ];
    const c = [{ id: "a", name: "ls" }, { id: "b", name: "edit" }, { text: "x" }];
    expect(mapJson({ c }, each).map((event) => event.type === "tool_call" && [event.call_id, event.kind])).toEqual([
      ["b", "edit"],
      ["a", "other"],
    ]);
  });

  test("ignores a line or an entry that says nothing, with no event", () => {
    const quiet: MappingRule[] = [
      { when: { type: ["ping", "pong"] }, ignore: true },
      { when: { "c.*.t": "text" }, event: { type: "output", data: "$.c.*.text" } },
      { when: { "c.*.t": "note" }, ignore: true },
    ];
    expect(mapJson({ type: "ping", c: [{ t: "odd" }] }, quiet)).toEqual([]);
    expect(mapJson({ c: [{ t: "note" }, { t: "odd" }] }, quiet)).toEqual([{ type: "unparsed", data: { t: "odd" } }]);
    expect(mapJson({ type: "ring" }, quiet)).toEqual([{ type: "unparsed", data: { type: "ring" } }]);
  });

  test("goes through lists in lists, and lines that are lists", () => {
    const nested: MappingRule[] = [
      {
        when: { "a.*.on": true, "a.*.b.*.id": "*" },
        event: { type: "tool_call", call_id: "$.a.*.b.*.id", tool: "$.a.*.name" },
      },
      { when: { "*.say": "*" }, event: { type: "output", data: "$.*.say" } },
    ];
    const a = [{ on: true, name: "x", b: [{ id: "1" }, { id: "2" }, {}] }, { on: false, b: [{ id: "3" }] }];
    const events = mapJson({ a }, nested);
    expect(events.map((event) => (event.type === "tool_call" ? `${event.tool} ${event.call_id}` : event))).toEqual([
      "x 1",
      "x 2",
      { type: "unparsed", data: {} },
      { type: "unparsed", data: { id: "3" } },
    ]);
    expect(mapJson([{ say: "hi" }, { say: "ho" }], nested)).toMatchObject([{ data: "hi" }, { data: "ho" }]);
  });

  test("reads JSON in a text, takes 0 as unknown, and turns a flag around", () => {
    const words: MappingRule[] = [{
      when: { id: "*" },
      event: {
        type: "tool_result",
        call_id: "$.id",
        output: "$.out | json",
        success: "$.failed | not",
        duration_ms: "$.ms | nonzero",
      },
    }];
    expect(mapJson({ id: "a", out: '{"n":[1]}', failed: true, ms: 0 }, words)).toMatchObject([
      { output: { n: [1] }, success: false, duration_ms: null },
    ]);
    expect(mapJson({ id: "a", out: "plain", failed: false, ms: 5 }, words)).toMatchObject([
      { output: "plain", success: true, duration_ms: 5 },
    ]);
    expect(mapJson({ id: "a", out: 7 }, words)).toMatchObject([{ output: 7, success: true, duration_ms: null }]);
  });

  test("drops what is said again, by its id, within one session", () => {
    const again: MappingRule[] = [{
      when: { t: "think" },
      event: { type: "thinking", content: "$.text" },
      once: "$.id",
    }];
    const memory = new MappingMemory();
    const said = (id: string) => mapJson({ t: "think", id, text: "hm" }, again, memory).length;
    expect([said("a"), said("a"), said("b"), said("a")]).toEqual([1, 0, 1, 0]);
    expect(mapJson({ t: "think", id: "a", text: "hm" }, again)).toHaveLength(1);
  });

  test("puts messages on lines of their own, and takes the last as the answer", () => {
    const talk: MappingRule[] = [
      { when: { t: "part" }, event: { type: "output", data: "$.x" } },
      { when: { t: "whole" }, event: { type: "output", data: "$.x" }, whole: true },
      { when: { t: "call" }, event: { type: "tool_call", call_id: "$.x" } },
    ];
    const memory = new MappingMemory();
    const told = (t: string, x: string) =>
      mapJson({ t, x }, talk, memory).map((event) => (event.type === "output" ? event.data : event.type)).join();
    expect([told("part", "I will "), told("part", "create it."), memory.messages.answer]).toEqual([
      "I will ",
      "create it.",
      undefined,
    ]);
    expect([told("call", "1"), told("part", "do"), told("part", "ne")]).toEqual(["tool_call", "\ndo", "ne"]);
    expect(memory.messages.answer).toBe("done");
    expect([told("whole", "one\n"), told("whole", "two"), told("part", "three")]).toEqual([
      "\none\n",
      "two",
      "\nthree",
    ]);
    expect([told("call", "2"), told("part", "\n"), memory.messages.answer]).toEqual(["tool_call", "\n", "three"]);
  });

  test("leaves out cumulative figures in a session that goes on from another", () => {
    const counts: MappingRule = {
      when: { t: "end" },
      event: { type: "usage", scope: "session", tokens_in: "$.n" },
      cumulative: true,
    };
    const line = { t: "end", n: 7 };
    expect(mapJson(line, [counts], new MappingMemory())).toMatchObject([{ type: "usage", tokens_in: 7 }]);
    expect(mapJson(line, [counts], new MappingMemory({ continue_from: "s-1" }))).toEqual([]);
  });

  test("adds numbers, and what is none to a first that is one adds nothing", () => {
    const sum: MappingRule = { when: {}, event: { type: "usage", scope: "turn", tokens_in: "$.a + $.b | nonzero" } };
    const told = (line: object) =>
      mapJson(line, [sum]).map((event) => ("tokens_in" in event ? event.tokens_in : event));
    expect([told({ a: 1, b: 2 }), told({ a: 1 }), told({ a: 0, b: 0 })]).toEqual([[3], [1], [null]]);
    expect(mapJson({ a: "1", b: 2 }, [sum])).toMatchObject([{ tokens_in: null }]);
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
      when: fc.constantFrom<Conditions>({}, { a: "*" }),
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

  test("makes nothing of amounts that no event may have", () => {
    const usage = { type: "usage", tokens_in: 2 ** 53 - 1, cost: 1e12 };
    expect(buildEvent(usage)).toMatchObject(usage);
    for (const wrong of [{ tokens_in: 2 ** 53 }, { tokens_out: 1.5 }, { tokens_cached: -1 }, { cost: 1.1e12 }]) {
      expect(buildEvent({ ...usage, ...wrong })).toBeNull();
    }
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
          details: expect.objectContaining({ rule: 5 }),
          message: expect.stringContaining("rule 6"),
        }),
      );
    },
  );
});

describe("checkMappingRules", () => {
  const output = { type: "output", data: "$.a" };
  test.each<[string, MappingRule, string[], string]>([
    [
      "a field it has not",
      { when: {}, event: { type: "thinking", contents: "$.t" } },
      ["event", "contents"],
      '"thinking" has no field "contents"',
    ],
    [
      "a field it lacks",
      { when: {}, event: { type: "tool_result", output: "$.a" } },
      ["event"],
      'needs the field "call_id"',
    ],
    ["no when and no else", { event: output }, [], 'neither "when" nor "else"'],
    ["when and else", { when: {}, else: {}, event: output }, [], 'both "when" and "else"'],
    ["else at first", { else: {}, event: output }, ["else"], 'no rule stands before its "else"'],
    ["no event", { when: {} }, [], 'neither "event" nor "ignore"'],
    ["an event that is ignored", { when: {}, event: output, ignore: true }, [], 'both "event" and "ignore"'],
    ["once without a path", { when: {}, event: output, once: "id" }, ["once"], '"once" is no path'],
    ["once without an event", { when: {}, ignore: true, once: "$.id" }, ["once"], '"once" stands without an event'],
    [
      "cumulative of another event",
      { when: {}, event: { type: "progress", message: "$.a" }, cumulative: true },
      ["cumulative"],
      '"cumulative" is only for usage',
    ],
    [
      "whole of another event",
      { when: {}, event: { type: "progress", message: "$.a" }, whole: true },
      ["whole"],
      '"whole" is only for output',
    ],
    ["a condition with $.", { when: { "$.a": 1 }, event: output }, ["when", "$.a"], 'begins with "$."'],
    ["an empty range", { when: { a: { from: 5, to: 4 } }, event: output }, ["when", "a"], "no number is from 5 to 4"],
    ["an unknown word", { when: {}, event: { ...output, data: "$.a | jsn" } }, ["event", "data"], '"jsn" after a path'],
    ["a word of no such field", { when: {}, event: { type: "tool_call", call_id: "$.a", kind: "edt" } }, [
      "event",
      "kind",
    ], '"kind" of "tool_call" cannot be "edt"'],
    ["entries of no condition", { when: {}, event: { ...output, data: "$.a.*.b" } }, [], 'is about the entries "a.*"'],
    [
      "inner entries of no condition",
      { when: { "a.*.x": 1 }, event: { ...output, data: "$.a.*.b.*.c" } },
      [],
      'is about the entries "a.*.b.*"',
    ],
    ["entries of two lists", { when: { "a.*.x": 1, "b.*.y": 1 }, event: output }, [], 'is about the entries "b.*"'],
  ])("refuses %s", (_what, rule, at, message) => {
    expect(() => checkMappingRules([rule])).toThrow(expect.objectContaining({
      code: "invalid_manifest",
      details: expect.objectContaining({ rule: 0, at }),
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
