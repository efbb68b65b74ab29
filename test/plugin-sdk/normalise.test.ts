import { expect, test } from "vitest";
import { toAcpUpdate } from "../../plugin-sdk/acp-update.ts";
import { adapterEventTypes } from "../../plugin-sdk/events.ts";
import { neutralKind, neutralKinds } from "../../plugin-sdk/normalise.ts";
import { fullEvents } from "./examples.ts";

test("neutralKind names what an agent says and does, and null for all else", () => {
  const kinds = Object.values(fullEvents).flatMap((event) => {
    const kind = neutralKind(event);
    return kind === null ? [] : [[event.type, kind]];
  });
  expect(kinds).toEqual([
    ["output", "output"],
    ["thinking", "reasoning"],
    ["tool_call", "tool-call"],
    ["tool_result", "tool-result"],
  ]);
});

test("neutralKinds has a row for each event type", () => {
  expect(Object.keys(neutralKinds).sort()).toEqual([...adapterEventTypes].sort());
});

test("toAcpUpdate gives the updates of that protocol, and null for the rest", () => {
  const updates = Object.values(fullEvents).map(toAcpUpdate).filter((update) => update !== null);
  expect(updates).toEqual([
    { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "hello\n" } },
    { sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "hm" } },
    {
      sessionUpdate: "tool_call",
      toolCallId: "c1",
      title: "shell",
      kind: "execute",
      status: "in_progress",
      rawInput: { command: "ls" },
    },
    {
      sessionUpdate: "tool_call_update",
      toolCallId: "c1",
      status: "completed",
      content: [{ type: "content", content: { type: "text", text: "a b" } }],
      rawOutput: "a b",
    },
    { sessionUpdate: "plan", entries: [{ content: "read", status: "pending", priority: "high" }] },
  ]);
});

test("toAcpUpdate keeps error output out of the agent's message", () => {
  expect(toAcpUpdate({ type: "output", stream: "stderr", data: "warning" })).toBeNull();
});

test("toAcpUpdate marks a failed tool, keeps output that is no text raw, and gives a plan's entries a priority", () => {
  expect(toAcpUpdate({ ...fullEvents.tool_result, success: false, output: { code: 1 } })).toEqual({
    sessionUpdate: "tool_call_update",
    toolCallId: "c1",
    status: "failed",
    rawOutput: { code: 1 },
  });
  expect(toAcpUpdate({ type: "plan", entries: [{ content: "a", status: "completed" }] })).toEqual({
    sessionUpdate: "plan",
    entries: [{ content: "a", status: "completed", priority: "medium" }],
  });
});
