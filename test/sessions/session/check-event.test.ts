import { type TSchema, Type, TypeGuard } from "@sinclair/typebox";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isShallow } from "../../../core/ground/checks/depth.ts";
import { checkEvent } from "../../../core/sessions/session/check-event.ts";
import { adapterEventSchemas, adapterEventTypes } from "../../../plugin-sdk/events.ts";
import { fullEvents } from "../../plugin-sdk/examples.ts";

describe("checkEvent", () => {
  test("an event of the contract passes as it is", () => {
    const events = Object.values(fullEvents);
    expect(events.map(({ type }) => type).sort()).toEqual([...adapterEventTypes].sort());
    for (const event of events) expect(checkEvent(event, 64)).toBe(event);
  });

  test.each([
    ["a number", 1, "An event needs a type."],
    ["null", null, "An event needs a type."],
    ["a text", "completed", "An event needs a type."],
    ["a list", [{ type: "progress", message: "x" }], "An event needs a type."],
    ["a type that is no text", { type: { toString: "progress" } }, "An event needs a type."],
    ["a host's type", { type: "session_ended", result: {} }, 'No event of an adapter has the type "session_ended".'],
    [
      "a type that is nearly right",
      { type: "progres", message: "x" },
      'No event of an adapter has the type "progres"; did you mean "progress"?',
    ],
    [
      "a type that objects have as a member",
      { type: "constructor" },
      'No event of an adapter has the type "constructor".',
    ],
    [
      "a lacking field",
      { type: "completed", success: true, tokens_used: null, cost: null },
      "completed needs files_changed (a list).",
    ],
    ["a wrong field", { type: "progress", message: 5 }, "progress.message must be string, not number 5."],
    ["an unknown field", { type: "progress", message: "x", more: 1 }, "progress has no field more."],
    [
      "a field that is nearly right",
      { type: "progress", message: "x", percentag: 1 },
      'progress has no field percentag; did you mean "percentage"?',
    ],
    [
      "a field inside a list",
      { type: "plan", entries: [{ content: "x", status: "done" }] },
      'plan.entries[0].status must be "pending" or "in_progress" or "completed", not string "done".',
    ],
  ])("%s is kept as unparsed, with the reason", (_name, yielded, problem) => {
    expect(checkEvent(yielded, 64)).toEqual({ type: "unparsed", data: { problem, yielded } });
  });

  test("nesting beyond the depth is cut off, in events that fit and in those that do not", () => {
    const deep = nested(70);
    const call = { type: "tool_call", call_id: "a", tool: "t", kind: "edit", input: deep };
    expect(checkEvent(call, 64)).toEqual({
      type: "unparsed",
      data: { problem: "tool_call.input is nested deeper than 64 levels.", yielded: "(nested too deeply to be kept)" },
    });
    expect(checkEvent(deep, 64)).toMatchObject({ data: { yielded: "(nested too deeply to be kept)" } });
    expect(checkEvent({ ...call, input: nested(60) }, 64)).toMatchObject({ type: "tool_call" });
  });

  const done = { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };
  test.each([
    ["tool_call.input", { type: "tool_call", call_id: "a", tool: "t", kind: "edit", input: nested(70) }],
    ["tool_result.output", {
      type: "tool_result",
      call_id: "a",
      tool: "t",
      output: nested(70),
      success: true,
      duration_ms: null,
    }],
    ["permission_request.input", {
      type: "permission_request",
      request_id: "a",
      tool: "t",
      title: "t",
      input: nested(70),
      options: [{ id: "a", label: "a", kind: "allow_once" }],
    }],
    ["unparsed.data", { type: "unparsed", data: nested(70) }],
    ["completed.structured_output", { ...done, structured_output: nested(70) }],
    ["completed.metadata", { ...done, metadata: { a: nested(70) } }],
  ])("%s may hold any JSON, but no nesting beyond the depth", (field, yielded) => {
    expect(checkEvent(yielded, 64)).toMatchObject({ data: { problem: `${field} is nested deeper than 64 levels.` } });
    expect(checkEvent(yielded, 80)).toBe(yielded);
  });

  test("no schema of an event leaves anything open further in, where its nesting would not be looked at", () => {
    const openIn = (schema: TSchema, level: number): boolean =>
      TypeGuard.IsAny(schema) || level > 1 && (TypeGuard.IsUnknown(schema) || TypeGuard.IsRecord(schema)) ||
      Object.values<unknown>({
        ...schema["properties"] as object,
        items: schema["items"],
        ...schema["anyOf"] as object,
      })
        .some((inner) => TypeGuard.IsSchema(inner) && openIn(inner, level + 1));
    expect(Object.entries(adapterEventSchemas).flatMap(([type, schema]) => openIn(schema, 0) ? [type] : [])).toEqual(
      [],
    );
    expect(openIn(Type.Object({ a: Type.Array(Type.Record(Type.String(), Type.String())) }), 0)).toBe(true);
    expect(openIn(Type.Object({ a: Type.Array(Type.Union([Type.Null(), Type.Unknown()])) }), 0)).toBe(true);
  });

  test("nothing that JSON can hold makes it throw, and what comes out is an event of the contract", () => {
    fc.assert(fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(...adapterEventTypes), (value, type) => {
      const yielded = typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value, type } : value;
      const event = checkEvent(yielded, 4);
      expect(adapterEventTypes).toContain(event.type);
      expect(checkEvent(event, 8)).toBe(event);
    }));
  });
});

describe("isShallow", () => {
  test("counts levels and never recurses deeper than it counts", () => {
    expect(isShallow(nested(3), 3)).toBe(true);
    expect(isShallow(nested(4), 3)).toBe(false);
    expect(isShallow("text", 0)).toBe(true);
    expect(isShallow(nested(100_000), 64)).toBe(false);
  });
});

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}
