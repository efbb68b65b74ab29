import { describe, expect, test } from "vitest";
import { readEvent } from "../../../../core/doors/console/page/shown-event.ts";
import { mostShown } from "../../../../core/doors/console/page/shown-text.ts";
import { envelopesOf } from "../../cli/fake-host.ts";

const line = (event: Record<string, unknown>): string => JSON.stringify({ ...envelopesOf([])[0], seq: 4, event });

describe("readEvent", () => {
  test("leaves a short event as it is", () => {
    const event = { type: "output", stream: "stdout", data: "short" };
    expect(readEvent(line(event))).toEqual({ seq: 4, event });
  });

  test("cuts a text of ten megabytes, and tells how long the event was", () => {
    const whole = line({ type: "output", stream: "stdout", data: "x".repeat(10_000_000) });
    const { event, cut_from } = readEvent(whole);
    expect(cut_from).toBe(whole.length);
    expect(event).toEqual({ type: "output", stream: "stdout", data: `${"x".repeat(mostShown)}…` });
  });

  test("keeps little of an event with many long texts, entries or levels", () => {
    let deep: unknown = "end";
    for (let level = 0; level < 500; level++) deep = [deep, "beside"];
    const inputs = [
      Array.from({ length: 100_000 }, (_, at) => at),
      Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`key${at}`, "x".repeat(1000)])),
      deep,
    ];
    for (const input of inputs) {
      const event = { type: "tool_call", call_id: "c", tool: "Edit", kind: "edit", input };
      const read = readEvent(line(event));
      expect(read.event).toMatchObject({ type: "tool_call", call_id: "c" });
      expect(JSON.stringify(read).length).toBeLessThan(8 * mostShown);
    }
  });

  test("keeps what an event is told apart by, wherever it stands", () => {
    const long = "x".repeat(9000);
    const event = { input: { a: long, b: long, c: long, d: long, e: long }, type: "tool_call", call_id: "c" };
    expect(readEvent(line(event)).event).toMatchObject({ type: "tool_call", call_id: "c" });
  });

  test("keeps little of an event with many numbers", () => {
    const row = Array.from({ length: 200 }, () => Array.from({ length: 20 }, () => 1));
    const input = Array.from({ length: 200 }, () => row);
    const event = { type: "tool_call", call_id: "c", tool: "Edit", kind: "edit", input };
    expect(JSON.stringify(readEvent(line(event))).length).toBeLessThan(8 * mostShown);
  });
});
