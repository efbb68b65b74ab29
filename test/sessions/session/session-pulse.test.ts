import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { HostEvent } from "../../../plugin-sdk/envelope.ts";
import type { AdapterEvent } from "../../../plugin-sdk/events.ts";
import { SessionPulse } from "../../../core/sessions/session/session-pulse.ts";

beforeEach(() => void vi.useFakeTimers({ now: new Date("2025-01-01T12:00:00.000Z"), toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const free = { cost: null, currency: null };

function take(pulse: SessionPulse, ...events: AdapterEvent[]): void {
  pulse.take(events.map((event) => ({ source: "agent" as const, event })), "busy");
}

const call = (call_id: string, tool: string, input: unknown, kind = "execute"): AdapterEvent =>
  ({ type: "tool_call", call_id, tool, kind, input }) as AdapterEvent;
const result = (call_id: string): AdapterEvent =>
  ({ type: "tool_result", call_id, tool: "", output: "", success: true, duration_ms: 1 }) as AdapterEvent;

test("the step is the open tool, else that of the plan, else the last tool", () => {
  const pulse = new SessionPulse();
  expect(pulse.facts(free).step).toBeNull();
  take(pulse, call("1", "Grep", { pattern: "tally", path: "src" }));
  expect(pulse.facts(free).step).toEqual({
    text: "Grep tally in src",
    since: "2025-01-01T12:00:00.000Z",
    is_open: true,
  });
  take(pulse, result("1"));
  expect(pulse.facts(free).step).toMatchObject({ is_open: false });
  const entries = [{ content: "Read", status: "completed" as const }, {
    content: "Fix it",
    status: "in_progress" as const,
  }];
  vi.advanceTimersByTime(60_000);
  take(pulse, { type: "plan", entries });
  vi.advanceTimersByTime(60_000);
  take(pulse, { type: "plan", entries });
  expect(pulse.facts(free)).toMatchObject({
    step: { text: "Fix it", since: "2025-01-01T12:01:00.000Z" },
    plan: { done: 1, total: 2 },
  });
});

test("the model is the one that the agent named last, by itself or with its usage", () => {
  const pulse = new SessionPulse();
  expect(pulse.facts(free).model).toBeUndefined();
  take(pulse, { type: "agent_info", model: "tide-1" });
  expect(pulse.facts(free).model).toBe("tide-1");
  const usage = { scope: "session", tokens_in: 1, tokens_out: 1, tokens_cached: null, cost: null } as const;
  take(pulse, { type: "usage", ...usage, model: "tide-2" } as AdapterEvent);
  take(pulse, { type: "usage", ...usage, agent_id: "sub", model: "small-1" } as AdapterEvent, { type: "agent_info" });
  expect(pulse.facts(free).model).toBe("tide-2");
});

test("the queue is the one that the session waits in, until an attempt begins", () => {
  const pulse = new SessionPulse();
  const host = (event: HostEvent) => pulse.take([{ source: "host", event }], "claude-code");
  host({ type: "queued", position: 2 });
  vi.advanceTimersByTime(60_000);
  host({ type: "queued", position: 1, reason: "Its agent is limited.", retry_in_ms: 500 });
  expect(pulse.facts(free).queued).toEqual({
    adapter_id: "claude-code",
    position: 1,
    since: "2025-01-01T12:00:00.000Z",
    reason: "Its agent is limited.",
    retry_at: "2025-01-01T12:01:00.500Z",
  });
  host({ type: "attempt_started", attempt: 1, adapter_id: "claude-code" } as HostEvent);
  expect(pulse.facts(free).queued).toBeUndefined();
});

test("beats count the events of each half minute, and age", () => {
  const pulse = new SessionPulse();
  take(pulse, result("1"), result("2"));
  vi.advanceTimersByTime(30_000);
  take(pulse, result("3"));
  expect(pulse.facts(free).beats.slice(-2)).toEqual([2, 1]);
  vi.advanceTimersByTime(60_000);
  const { beats, last_event_at } = pulse.facts(free);
  expect(beats.slice(-4)).toEqual([2, 1, 0, 0]);
  expect([beats.length, last_event_at]).toEqual([20, "2025-01-01T12:00:30.000Z"]);
  vi.advanceTimersByTime(3_600_000);
  expect(Math.max(...pulse.facts(free).beats)).toBe(0);
});

test("lines are those of the changes that the agent reports, else of the edits that it asks for", () => {
  const pulse = new SessionPulse();
  take(pulse, call("1", "Edit", { file_path: "a.js", old_string: "one\ntwo", new_string: "one\nthree\nfour" }, "edit"));
  expect(pulse.facts(free).lines).toEqual({ added: 2, removed: 1 });
  take(pulse, {
    type: "file_change",
    path: "a.js",
    action: "modify",
    diff: "--- a/a.js\n+++ b/a.js\n@@ -1 +1 @@\n-x\n+y",
  });
  expect(pulse.facts(free).lines).toEqual({ added: 1, removed: 1 });
});
