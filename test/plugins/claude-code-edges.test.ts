import { describe, expect, test } from "vitest";
import { StreamParser } from "../../plugins/claude-code/stream-parser.ts";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";

// What no recording shows: legal but rare, or sent by other servers and programs than those that were recorded.
function printed(events: readonly AdapterEvent[]): string {
  return events.flatMap((event) => (event.type === "output" ? event.data : [])).join("");
}

describe("Claude Code", () => {
  function parse(...messages: object[]): AdapterEvent[] {
    const parser = new StreamParser();
    return messages.flatMap((one) => parser.parse(JSON.stringify(one)));
  }
  const streamed = (event: object) => ({ type: "stream_event", parent_tool_use_id: null, event });
  const begun = (usage: object) => streamed({ type: "message_start", message: { id: "msg_1", model: "m", usage } });
  const counted = (usage: object) => streamed({ type: "message_delta", delta: {}, usage });
  const stopped = streamed({ type: "message_stop" });

  const result = (fields: object) => ({ type: "result", subtype: "success", is_error: false, num_turns: 1, ...fields });
  const system = (subtype: string, fields: object) => ({ type: "system", subtype, ...fields });

  test.each<[string, object[], string[]]>([
    ["a list", [system("background_tasks_changed", { tasks: [{ task_id: "a" }, { task_id: "b" }] })], ["a", "b"]],
    ["a start", [system("task_started", { task_id: "a", is_backgrounded: true })], ["a"]],
    ["one in the foreground", [system("task_started", { task_id: "a", is_backgrounded: false })], []],
    ["a watcher", [system("background_tasks_changed", { tasks: [{ task_id: "a", ambient: true }] })], []],
    [
      "a notification",
      [system("task_started", { task_id: "a" }), system("task_notification", { task_id: "a", status: "failed" })],
      [],
    ],
    [
      "an update",
      [system("task_started", { task_id: "a" }), system("task_updated", { task_id: "a", patch: { status: "killed" } })],
      [],
    ],
    [
      "an empty list",
      [system("task_started", { task_id: "a" }), system("background_tasks_changed", { tasks: [] })],
      [],
    ],
  ])("its tasks in the background are known by %s", (_what, messages, open) => {
    const parser = new StreamParser();
    const events = messages.flatMap((one) => parser.parse(JSON.stringify(one)));
    expect(events.filter(({ type }) => type !== "progress")).toEqual([]);
    expect(parser.tasks.map(({ id }) => id)).toEqual(open);
  });

  test("signs of thinking do not part the thought", () => {
    const thinking = (estimated_tokens: unknown) => system("thinking_tokens", { estimated_tokens });
    const piece = (text: string) =>
      streamed({ type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: text } });
    const events = parse(
      begun({}),
      thinking(3),
      piece("I should "),
      thinking(8),
      piece("think about this"),
      thinking(-1),
    );
    expect(events.filter(({ type }) => type !== "usage" && type !== "agent_info")).toEqual([
      { type: "thinking", content: "", tokens_used: 3 },
      { type: "thinking", content: "I should " },
      { type: "thinking", content: "", tokens_used: 8 },
      { type: "thinking", content: "think about this" },
      { type: "thinking", content: "" },
    ]);
  });

  test("a turn that broke off is no success, and a result of no turn takes nothing away", () => {
    expect(parse(result({ result: "", stop_reason: "tool_use" })).at(-1)).toMatchObject({ code: "unavailable" });
    const spurious = {
      type: "result",
      subtype: "error_during_execution",
      is_error: true,
      num_turns: 0,
      duration_ms: 0,
    };
    const events = parse(result({ result: "ok", total_cost_usd: 0.01 }), spurious);
    expect(events.at(-1)).toMatchObject({ type: "progress" });
    expect(events.filter(({ type }) => type === "usage")).toMatchObject([{ cost: 0.01 }]);
  });

  test.each([
    ["max_tokens", "output_limit"],
    ["model_context_window_exceeded", "context_overflow"],
    ["pause_turn", "unavailable"],
  ])("an answer that the model stopped for %s is not whole", (stop_reason, code) => {
    expect(parse(result({ result: "half", stop_reason })).at(-1)).toMatchObject({ type: "error", code });
  });

  test.each(["end_turn", "constructor", "__proto__"])("an answer with the stop reason %s is whole", (stop_reason) => {
    expect(parse(result({ result: "all", stop_reason })).at(-1)).toMatchObject({ type: "completed", output: "all" });
  });

  test.each<[string, string]>([
    ["You've hit your limit · resets 8pm (America/Indianapolis)", "rate_limit"],
    ["Claude AI usage limit reached|4000000000", "rate_limit"],
    ["Your conversation has exceeded its context limit", "agent_error"],
  ])("a failure that says %j and no status is %s", (text, code) => {
    expect(parse(result({ is_error: true, result: text })).at(-1)).toMatchObject({ type: "error", code });
  });

  test("results count what each of them adds, and a continued session's totals are unknown", () => {
    const part = (costUSD: number) => ({ model_usage_since_last_result: { m: { outputTokens: 2, costUSD } } });
    expect(parse(result(part(1)), result(part(0.5))).at(-2)).toMatchObject({ cost: 1.5, tokens_out: 4 });
    const total = (costUSD: number) => ({ modelUsage: { m: { outputTokens: 20, costUSD } }, total_cost_usd: costUSD });
    expect(parse(result(total(1)), result(total(1.5))).at(-2)).toMatchObject({ cost: 1.5, tokens_out: 20 });
    const resumed = new StreamParser({ resumed: true });
    const told = (fields: object) => resumed.parse(JSON.stringify(result(fields)))[0];
    expect(told(total(3))).toMatchObject({ cost: null, tokens_out: null });
    expect(told(part(0.5))).toMatchObject({ cost: 0.5, tokens_out: 2 });
  });

  test("a server of the Model Context Protocol that failed is told of, once", () => {
    const init = (...mcp_servers: unknown[]) => ({ type: "system", subtype: "init", session_id: "s", mcp_servers });
    const server = (name: string, status: string) => ({ name, status });
    const fine = [server("a", "connected"), server("b", "pending"), server("c", "disabled")];
    const events = parse(
      init(...fine, server("probe", "failed"), server("far", "needs-auth"), null, "x", { name: 1 }),
      init(...fine, server("probe", "failed"), server("b", "failed")),
      init("nothing"),
    );
    expect(events.flatMap((event) => (event.type === "progress" ? event.message : []))).toEqual([
      'The agent works without the MCP server "probe": it has failed.',
      'The agent works without the MCP server "far": it wants a login.',
      'The agent works without the MCP server "b": it has failed.',
    ]);
    expect(events.filter(({ type }) => type === "agent_info")).toHaveLength(1);
  });

  test("a turn whose counts come twice is counted once, with the last of them", () => {
    const events = parse(
      begun({ input_tokens: 10, output_tokens: 1 }),
      counted({ output_tokens: 3 }),
      counted({ output_tokens: 7 }),
      stopped,
    );
    expect(events).toMatchObject([{ type: "usage", scope: "turn", tokens_in: 10, tokens_out: 7 }]);
  });

  test("a turn that was cut before its end is counted when the next thing happens", () => {
    const events = parse(
      begun({ input_tokens: 10, output_tokens: 1 }),
      counted({ output_tokens: 3 }),
      begun({ input_tokens: 20, output_tokens: 1 }),
      counted({ output_tokens: 4 }),
      { type: "result", subtype: "success", is_error: false, result: "ok", total_cost_usd: 0 },
    );
    expect(events.filter(({ type }) => type === "usage")).toMatchObject([
      { scope: "turn", tokens_in: 10, tokens_out: 3 },
      { scope: "turn", tokens_in: 20, tokens_out: 4 },
      { scope: "session" },
    ]);
  });

  test("a count that a later event does not know leaves the earlier one", () => {
    const events = parse(begun({ input_tokens: 10 }), counted({ input_tokens: null, output_tokens: 3 }), stopped);
    expect(events).toMatchObject([{ type: "usage", tokens_in: 10, tokens_out: 3 }]);
  });

  test("text with which a block begins is said once", () => {
    const events = parse(
      begun({}),
      streamed({ type: "content_block_start", index: 0, content_block: { type: "text", text: "abc" } }),
      streamed({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "def" } }),
      { type: "assistant", message: { id: "msg_1", model: "m", content: [{ type: "text", text: "abcdef" }] } },
    );
    expect(printed(events)).toBe("abcdef");
  });

  test("a message whose content is one text, or nothing that is known, is not lost", () => {
    expect(printed(parse({ type: "assistant", message: { id: "msg_2", model: "m", content: "hello" } }))).toBe("hello");
    const odd = { type: "assistant", message: { id: "msg_3", model: "m", content: 5 } };
    expect(parse(odd)).toEqual([{ type: "unparsed", data: odd }]);
  });
});
