import { expect, test } from "vitest";
import { failureOf, failureOfStop } from "../../plugins/acp/failures.ts";
import { agentOptions } from "../../plugins/acp/options.ts";
import { countParam, textParam } from "../../plugins/acp/request-params.ts";
import { commandLine } from "../../plugins/acp/terminals.ts";
import { UpdateReader } from "../../plugins/acp/update-reader.ts";
import { usageOf } from "../../plugins/acp/usage.ts";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";
import { printed } from "./recorded-lines.ts";

function chunk(text: string, messageId?: string): AdapterEvent[] | null {
  return reader.read({
    method: "session/update",
    params: {
      sessionId: "s",
      update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text }, messageId },
    },
  });
}

const untold = { cost: null, counted: null, isPart: false, callsBesides: false };

let reader = new UpdateReader();

function begun(): UpdateReader {
  reader = new UpdateReader();
  reader.begin("s");
  return reader;
}

test("messages are kept apart by their ids, and the last one is the answer", () => {
  begun();
  const events = [chunk("Hel", "a"), chunk("lo", "a"), chunk("there", "b")].flatMap((one) => one ?? []);
  expect(printed(events)).toBe("Hello\nthere");
  expect(reader.end()).toMatchObject({ output: "there", files_changed: [], usage: untold });
});

test("what another session says is a helper's word, and what is no update is not known", () => {
  begun();
  const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "x" } };
  const other = (sessionId: string) => reader.read({ method: "session/update", params: { sessionId, update } });
  const began = (id: string) => ({ type: "agent_started", agent_id: id, name: id });
  const said = (id: string, text: string) => ({ type: "progress", message: `[sub-agent ${id}] ${text}`, agent_id: id });
  expect([other("one"), other("one"), other("two")]).toEqual([
    [began("one")],
    [],
    [began("two"), said("one", "xx")],
  ]);
  expect(reader.end()).toMatchObject({ output: "", events: [said("two", "x")] });
  for (const params of [undefined, null, [], {}, { sessionId: "s" }, { sessionId: "s", update: 7 }]) {
    expect(reader.read({ method: "session/update", params })).toBe(null);
  }
  expect(reader.read({ method: "session/update", params: { sessionId: "s", update: { sessionUpdate: "plan" } } })).toBe(
    null,
  );
  expect(reader.read({ method: "other/thing" })).toBe(null);
  expect(reader.read({ method: "other/thing", id: 1 })).toEqual([]);
});

test.each([
  [{ usage: { inputTokens: 5, outputTokens: 2, cachedReadTokens: 3, cachedWriteTokens: 1, totalTokens: 11 } }, 9, 2, 3],
  [{ usage: { inputTokens: 5, outputTokens: 2, cachedReadTokens: 3, totalTokens: 7 } }, 5, 2, 3],
  [{ usage: { inputTokens: 5, outputTokens: 2, thoughtTokens: 4, totalTokens: 11 } }, 5, 6, null],
  [{ usage: { inputTokens: 5, outputTokens: 6, thoughtTokens: 4, cachedReadTokens: 0, totalTokens: 11 } }, 5, 6, 0],
  [{ usage: { inputTokens: 5, outputTokens: 6, thoughtTokens: 4, cachedReadTokens: 3, totalTokens: 14 } }, 8, 6, 3],
  [{ usage: { inputTokens: 5, outputTokens: 2, thoughtTokens: 4 } }, 5, 6, null],
  [{ _meta: { quota: { token_count: { input_tokens: 5, output_tokens: 2 } } } }, 5, 2, null],
])("the usage of %j", (answer, tokens_in, tokens_out, tokens_cached) => {
  const expected = { scope: "session", tokens_in, tokens_out, tokens_cached, cost: null };
  expect(usageOf(answer, untold)).toMatchObject(expected);
});

test.each([
  [{ usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 } }],
  [{ usage: null, _meta: { quota: { token_count: { input_tokens: 0, output_tokens: 0 } } } }],
])("a turn that was not counted has no usage instead of 0: %j", (answer) => {
  expect(usageOf(answer, untold)).toBe(null);
});

test("an answer without usage has none, and one of a single model names it", () => {
  expect(usageOf({ stopReason: "end_turn" }, { ...untold, cost: { cost: 1, currency: "USD" } })).toBe(null);
  const quota = { token_count: { input_tokens: 1, output_tokens: 1 }, model_usage: [{ model: "m" }] };
  expect(usageOf({ _meta: { quota } }, untold)).toMatchObject({ model: "m" });
});

test.each([
  [{ code: -32603, message: "Internal error", data: { errorKind: "rate_limit" } }, "rate_limit", true],
  [{ code: -32603, message: "Internal error", data: { errorKind: "server_error" } }, "unavailable", true],
  [{ code: -32603, message: "Internal error", data: { details: "fetch failed" } }, "unavailable", true],
  [{ code: -32603, message: "Your request hit a content filter" }, "refused", false],
  [{ code: -32601, message: "Method not found" }, "fatal", false],
])("failureOf reads %j as %s", (error, code, recoverable) => {
  expect(failureOf(error)).toMatchObject({ type: "error", code, recoverable });
});

test("a turn that ends for a reason that nobody knows has failed", () => {
  expect(failureOfStop("end_turn", { rejected: true })).toBe(null);
  expect(failureOfStop("cancelled", { rejected: true })).toMatchObject({ code: "refused" });
  expect(failureOfStop("max_turn_requests", { rejected: false })).toMatchObject({ code: "turn_limit" });
  expect(failureOfStop("moon", { rejected: false })).toMatchObject({ code: "fatal" });
});

test.each([
  [{ command: "ls -l | wc" }, "ls -l | wc"],
  [{ command: "echo", args: ["it's", "$HOME"] }, `'echo' 'it'\\''s' '$HOME'`],
  [{ command: "env", env: [{ name: "A", value: "b c" }] }, "export A='b c'; env"],
])("the command %j is the line %s", (order, line) => {
  expect(commandLine(order)).toBe(line);
});

test("a variable that is no name is refused", () => {
  expect(() => commandLine({ command: "ls", env: [{ name: "A;rm", value: "" }] })).toThrow("not the name");
});

test("options name one agent", () => {
  expect(agentOptions({ agent: "gemini", files: true })).toMatchObject({
    reach: { command: "gemini", args: ["--acp"] },
    files: true,
    terminals: false,
    missingFileIsEmpty: true,
  });
  expect(agentOptions({ command: "mine", args: ["acp"] })).toMatchObject({
    reach: { command: "mine", args: ["acp"] },
    missingFileIsEmpty: false,
  });
  expect(() => agentOptions({})).toThrow("none of them");
  expect(() => agentOptions({ agent: "nobody" })).toThrow("nobody");
});

test("a parameter of another kind than it must be is refused in the protocol's words", () => {
  expect([textParam({ a: "x" }, "a"), countParam({ a: 2 }, "a"), countParam({}, "a")]).toEqual(["x", 2, undefined]);
  expect(() => textParam({ a: 2 }, "a")).toThrow(expect.objectContaining({ code: -32602 }));
  expect(() => countParam({ a: -1 }, "a")).toThrow(expect.objectContaining({ code: -32602 }));
});

test("a child of its own session is known by the call that started it, also where a later update does not say so", () => {
  begun();
  const meta = (parentToolUseId: string) => ({ _meta: { claudeCode: { toolName: "Bash", parentToolUseId } } });
  const update = (fields: object) =>
    reader.read({ method: "session/update", params: { sessionId: "s", update: { kind: "execute", ...fields } } }) ?? [];
  const call = { sessionUpdate: "tool_call", status: "in_progress" };
  const rawInput = { description: "Look around", prompt: "Look at all files." };
  const events = [
    ...update({ ...call, toolCallId: "task", title: "Task", rawInput }),
    ...update({ ...call, toolCallId: "c", title: "ls", rawInput: { command: "ls" }, ...meta("task") }),
  ];
  const started = { type: "agent_started", agent_id: "task", call_id: "task", name: "Look around" };
  expect(events).toMatchObject([
    { type: "tool_call", call_id: "task" },
    { ...started, prompt: "Look at all files." },
    { type: "tool_call", call_id: "c", agent_id: "task" },
  ]);
  expect(events[0]).not.toHaveProperty("agent_id");
  const options = [{ optionId: "yes", name: "Yes", kind: "allow_once" }];
  const toolCall = { toolCallId: "c", title: "ls", kind: "execute" };
  expect(reader.read({ method: "session/request_permission", id: 1, params: { sessionId: "s", toolCall, options } }))
    .toMatchObject([{
      type: "permission_request",
      title: "[sub-agent Look around] ls",
      agent_id: "task",
      call_id: "c",
    }]);
  const done = { sessionUpdate: "tool_call_update", status: "completed" };
  expect(update({ ...done, toolCallId: "c" })).toMatchObject([{ type: "tool_result", agent_id: "task" }]);
  expect(update({ ...done, toolCallId: "task" })).toMatchObject([
    { type: "agent_ended", agent_id: "task", outcome: "completed" },
    { type: "tool_result", call_id: "task" },
  ]);
});

test("a child with a session of its own has the name that its parent gives it, and an end", () => {
  begun();
  const read = (sessionId: string, update: object) =>
    reader.read({ method: "session/update", params: { sessionId, update } });
  const told = (state: object, sessionId = "child") => ({ sessionUpdate: "subagent_update", sessionId, state });
  expect(read("s", { ...told({ state: "running" }), title: "Reviewer" })).toEqual([
    { type: "agent_started", agent_id: "child", name: "Reviewer" },
  ]);
  expect(read("child", told({ state: "running" }, "grandchild"))).toEqual([
    { type: "agent_started", agent_id: "grandchild", name: "grandchild", parent: "child" },
  ]);
  const options = [{ optionId: "yes", name: "Yes", kind: "allow_once" }];
  const params = { sessionId: "child", toolCall: { toolCallId: "c", title: "rm -r build", kind: "execute" }, options };
  const asked = reader.read({ method: "session/request_permission", id: 1, params }) ?? [];
  expect(asked.at(-1)).toMatchObject({
    title: "[sub-agent Reviewer] rm -r build",
    agent_id: "child",
    call_id: "child/c",
  });
  expect(read("child", { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "Seen." } })).toEqual([]);
  expect(read("s", told({ state: "idle", stopReason: "cancelled" }))).toEqual([
    { type: "progress", message: "[sub-agent Reviewer] Seen.", agent_id: "child" },
    { type: "agent_ended", agent_id: "child", outcome: "stopped" },
  ]);
  expect(read("s", told({ state: "idle", stopReason: "end_turn" }))).toEqual([]);
  expect(reader.end()).toMatchObject({ output: "" });
});
