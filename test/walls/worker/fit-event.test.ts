import { describe, expect, test } from "vitest";
import { batchCharacters, creditOf, hasMoreValues } from "../../../core/walls/channel/count-values.ts";
import { fitEvent, pieceRoom } from "../../../core/walls/worker/fit-event.ts";

const limits = { event_bytes: 10_000, event_values: 100, message_bytes: 1_000_000 };
const fit = (event: unknown) => fitEvent(JSON.stringify(event), limits);
const bytes = (text: string) => new TextEncoder().encode(text).byteLength;

describe("fitEvent", () => {
  test("sends an event that fits as it is", () => {
    const event = { type: "progress", message: "ä".repeat(4900) };
    expect(fit(event)).toEqual([JSON.stringify(event)]);
  });

  test.each(["x", "ä", "😀", '"', "\u0000", "a😀"])("splits what was printed and loses nothing of it: %j", (unit) => {
    const data = unit.repeat(20_000);
    const pieces = fit({ type: "output", stream: "stdout", data });
    expect(pieces.length).toBeGreaterThan(1);
    for (const piece of pieces) expect(bytes(piece)).toBeLessThanOrEqual(limits.event_bytes);
    const events = pieces.map((piece) => JSON.parse(piece) as { data: string; type: string; stream: string });
    expect(events.map((event) => event.data).join("")).toBe(data);
    for (const event of events) {
      expect(event).toMatchObject({ type: "output", stream: "stdout" });
      expect(event.data).not.toMatch(/\p{Surrogate}/u);
    }
  });

  test("cuts the long texts of a tool result, and says so", () => {
    const output = { log: "x".repeat(50_000), code: 0, other: "é".repeat(30_000) };
    const [text] = fit({ type: "tool_result", call_id: "c", tool: "t", output, success: true, duration_ms: 1 });
    expect(bytes(text!)).toBeLessThanOrEqual(limits.event_bytes);
    const cut = JSON.parse(text!) as { output: typeof output };
    expect(cut.output.log).toMatch(/^x+… \[cut: it has 50000 characters\]$/);
    expect(cut.output.code).toBe(0);
  });

  test.each([
    ["many values", { type: "unparsed", data: Array.from({ length: 200 }, () => 1) }, /more than 100 values/],
    ["long keys", { type: "unparsed", data: { ["k".repeat(20_000)]: 1 } }, /more than 10000 bytes/],
    ["more than a message", { type: "output", stream: "stdout", data: "x".repeat(2e6) }, /more than 10000 bytes/],
  ])("refuses %s", (_what, event, message) => {
    expect(() => fit(event)).toThrow(
      expect.objectContaining({ code: "too_large", message: expect.stringMatching(message) }),
    );
  });
});

describe("hasMoreValues", () => {
  test.each<[unknown, number]>([
    [[1, 2, 3, 4], 5],
    [{ a: [1, 2], b: { c: "x,y,[{" } }, 6],
    [["\\", '"', '\\"', ",,,,,,", "[[["], 6],
    [[[[[]]]], 5],
    ["a,b,c,d,e,f,g,h,".repeat(9), 1],
  ])("counts the values of %j", (value, values) => {
    const text = JSON.stringify(value).padEnd(200);
    expect(hasMoreValues(text, values)).toBe(false);
    expect(hasMoreValues(text, values - 1)).toBe(values > 1);
  });

  test("stops where a string has no end", () => {
    expect(hasMoreValues(`["${"x,".repeat(500)}`, 10)).toBe(false);
    expect(hasMoreValues(`["\\"${"x,".repeat(500)}`, 10)).toBe(false);
  });
});

describe("pieceRoom", () => {
  test.each([10_000, 200, 1024 * 1024])(
    "a piece that long fits into %i bytes whatever its text, and costs one credit",
    (most) => {
      const room = Math.floor(pieceRoom({ ...limits, event_bytes: most }));
      for (const unit of ["x", "ä", "€", "\u0000", '"']) {
        const text = JSON.stringify({ type: "output", stream: "stdout", data: unit.repeat(Math.max(room, 0)) });
        if (room >= 0) expect(bytes(text)).toBeLessThanOrEqual(Math.min(most, batchCharacters));
        expect(creditOf(text.length)).toBe(1);
      }
      // Little room is lost.
      expect(room).toBeGreaterThan(Math.min(most, batchCharacters) / 6 - 40);
    },
  );

  test("there is none where an event may have fewer values than a piece has", () => {
    expect(pieceRoom({ ...limits, event_values: 3 })).toBeLessThan(0);
    expect(pieceRoom({ ...limits, event_values: 4 })).toBeGreaterThan(0);
  });
});
