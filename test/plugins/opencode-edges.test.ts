import { describe, expect, test } from "vitest";
import { failureOf } from "../../plugins/opencode/failures.ts";
import OpenCode from "../../plugins/opencode/mod.ts";
import { RunStream } from "../../plugins/opencode/run-stream.ts";
import { CliEnding } from "../../plugin-sdk/cli-ending.ts";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";

// What no recording shows: legal but rare, or sent by other servers and programs than those that were recorded.
function types(events: readonly AdapterEvent[]): string[] {
  return events.map(({ type }) => type);
}

describe("OpenCode", () => {
  const limit = (headers: object) =>
    failureOf({ name: "APIError", data: { message: "slow down", statusCode: 429, responseHeaders: headers } })?.waitMs;

  test("the wait after a limit is a number, a date or milliseconds", () => {
    const soon = new Date(Date.now() + 60_000).toUTCString();
    expect(limit({ "retry-after": "7" })).toBe(7000);
    expect(limit({ "retry-after": "1.5" })).toBe(2000);
    expect(limit({ "retry-after-ms": "2500" })).toBe(3000);
    expect(limit({ "retry-after": soon })).toBeGreaterThan(50_000);
    expect(limit({ "retry-after": soon })).toBeLessThanOrEqual(60_000);
    expect(limit({ "retry-after": "soon" })).toBeNull();
    expect(limit({})).toBeNull();
  });

  test("a database that another session has locked is worth another try", () => {
    const reader = new OpenCode();
    const ending = new CliEnding({
      detector: reader.getRateLimitDetector(),
      meaningOf: (text) => reader.meaningOfText(text),
    });
    ending.take([{ type: "output", stream: "stderr", data: "Error: Unexpected error\n\ndatabase is locked\n" }]);
    const said = ending.failure({ exit_code: 1, signal: null }, { meaning: "fatal", strict: true });
    expect(said).toMatchObject([{ type: "error", code: "timeout", recoverable: true }]);
  });

  test("a provider that names each step's calls alike has them told apart", () => {
    const stream = new RunStream();
    const state = { status: "completed", input: {}, output: "ok" };
    const row = (id: string) => ({ type: "tool_use", part: { id, callID: "call_0", tool: "read", state } });
    const events = [row("prt_1"), row("prt_2")].flatMap((one) => stream.read(JSON.stringify(one)));
    const ids = events.flatMap((event) => ("call_id" in event ? event.call_id : []));
    expect(types(events)).toEqual(["tool_call", "tool_result", "tool_call", "tool_result"]);
    expect(ids[0]).toBe("call_0");
    expect(ids[1]).toBe("call_0");
    expect(ids[2]).not.toBe("call_0");
    expect(ids[3]).toBe(ids[2]);
  });
});
