import { fileURLToPath } from "node:url";
import { RateLimitDetector } from "bulkhead/plugin-sdk";
import { describe, expect, test } from "vitest";
import { MessageStream } from "../../plugins/anthropic-api/message-stream.ts";
import { StreamParser } from "../../plugins/claude-code/stream-parser.ts";
import { ExecStream } from "../../plugins/codex/exec-stream.ts";
import { ChatStream } from "../../plugins/openai-compatible/chat-stream.ts";
import { failureOf } from "../../plugins/opencode/failures.ts";
import { RunStream } from "../../plugins/opencode/run-stream.ts";
import { readManifest } from "../../core/registry/read-manifest.ts";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";
import { mapJsonLine } from "../../plugin-sdk/jsonl-mapping.ts";
import { SseReader } from "../../plugin-sdk/sse-reader.ts";

// What no recording shows: legal but rare, or sent by servers and programs other than those that were recorded.
const detector = new RateLimitDetector([], { now: () => Date.UTC(2026, 0, 1) });

function printed(events: readonly AdapterEvent[]): string {
  return events.flatMap((event) => (event.type === "output" ? event.data : [])).join("");
}

function types(events: readonly AdapterEvent[]): string[] {
  return events.map(({ type }) => type);
}

describe("chat completions", () => {
  function read(...chunks: (object | string)[]): AdapterEvent[] {
    const chat = new ChatStream({ prices: null, detector });
    const data = chunks.map((one) => typeof one === "string" ? one : JSON.stringify(one));
    return [...data.flatMap((one) => chat.take(one)), ...chat.ending()];
  }
  const chunk = (delta: object, finish_reason: string | null = null, index = 0) => ({
    choices: [{ index, delta, finish_reason }],
  });

  test("an answer that nobody asked for beside the first is no part of its text", () => {
    const other = chunk({ content: "B" }, "length", 1);
    const events = read(chunk({ content: "a" }), other, chunk({}, "stop"), "[DONE]");
    expect(printed(events)).toBe("a");
    expect(events).toContainEqual({ type: "unparsed", data: other });
    expect(events.at(-1)).toMatchObject({ type: "completed", success: true });
  });

  test("content in parts is text and thinking, and a part of another kind is kept", () => {
    const image = { type: "image_url", image_url: { url: "data:," } };
    const thinking = { type: "thinking", thinking: [{ type: "text", text: "hm" }] };
    const events = read(chunk({ content: [thinking, { type: "text", text: "yes" }, image] }), chunk({}, "stop"));
    expect(events).toMatchObject([
      { type: "thinking", content: "hm" },
      { type: "output", data: "yes" },
      { type: "unparsed", data: image },
      { type: "completed" },
    ]);
  });

  test.each([
    ["a call in the older form", { function_call: { name: "f", arguments: "" } }],
    ["thinking in a form that is not known", { reasoning: { steps: [1] } }],
    ["a content that is no text", { content: { a: 1 } }],
  ])("%s is kept", (_name, delta) => {
    const sent = chunk(delta);
    expect(read(sent, chunk({}, "stop"))).toContainEqual({ type: "unparsed", data: sent });
  });

  test("thinking that stands in details alone is told, and not twice where it stands in both", () => {
    const reasoning_details = [{ type: "reasoning.text", text: "hm" }];
    for (const delta of [{ reasoning_details }, { reasoning: "hm", reasoning_details }]) {
      const thoughts = read(chunk(delta), chunk({ content: "a" }, "stop")).filter(({ type }) => type === "thinking");
      expect(thoughts).toEqual([{ type: "thinking", content: "hm" }]);
    }
  });

  test.each([
    ["error", "crash"],
    ["model_length", "output_limit"],
    ["tool_calls", "unsupported"],
    ["function_call", "unsupported"],
  ])("finish_reason %s is a failure: %s", (finish_reason, code) => {
    expect(read(chunk({ content: "a" }, finish_reason), "[DONE]").at(-1)).toMatchObject({ type: "error", code });
  });

  test("a stream that ends without an answer is no answer", () => {
    expect(read("[DONE]").at(-1)).toMatchObject({ type: "error", code: "crash" });
    expect(read({ choices: [] }, "[DONE]").at(-1)).toMatchObject({ type: "error", code: "crash" });
  });
});

describe("messages", () => {
  const start = { type: "message_start", message: { model: "m", usage: { input_tokens: 10, output_tokens: 1 } } };

  test("a count that a later event does not know leaves the earlier one", () => {
    const stream = new MessageStream(detector);
    const delta = { type: "message_delta", delta: { stop_reason: "end_turn" } };
    const sent = [
      start,
      { ...delta, usage: { input_tokens: null, cache_read_input_tokens: null, output_tokens: 5 } },
      { type: "message_stop" },
    ];
    for (const one of sent) stream.take(JSON.stringify(one));
    expect(stream.ending()).toMatchObject([
      { type: "usage", tokens_in: 10, tokens_out: 5 },
      { type: "completed", tokens_used: 15 },
    ]);
  });
});

describe("Claude Code", () => {
  function parse(...messages: object[]): AdapterEvent[] {
    const parser = new StreamParser();
    return messages.flatMap((one) => parser.parse(JSON.stringify(one)));
  }
  const streamed = (event: object) => ({ type: "stream_event", parent_tool_use_id: null, event });
  const begun = (usage: object) => streamed({ type: "message_start", message: { id: "msg_1", model: "m", usage } });
  const counted = (usage: object) => streamed({ type: "message_delta", delta: {}, usage });
  const stopped = streamed({ type: "message_stop" });

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

describe("Codex", () => {
  test("an error that the turn got over is told as something that passed", () => {
    const stream = new ExecStream();
    const rows = [{ type: "error", message: "a tool server is away" }, { type: "turn.completed" }];
    const events = rows.flatMap((row) => stream.read(JSON.stringify(row)));
    expect(events).toMatchObject([{ type: "progress", message: "a tool server is away" }, { type: "completed" }]);
    expect(stream.end()).toEqual([]);
  });
});

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

describe("an answer that is no stream of events", () => {
  function read(text: string, size: number): SseReader {
    const reader = new SseReader();
    for (let at = 0; at < text.length; at += size) reader.take(text.slice(at, at + size));
    reader.end();
    return reader;
  }

  test.each([1, 7, 1000])("is kept, also where it comes in pieces of %d", (size) => {
    const error = '{\n  "error": {"message": "no such key"}\n}';
    expect(read(error, size).other).toBe(error);
    expect(read("\r\n<html>\r\n", size).other).toBe("<html>");
    for (const stream of ["", "\n\n", ": ping\n\n", 'data: {"a', "event: x\n", "junk\ndata: a\n\n"]) {
      expect(read(stream, size).other).toBe("");
    }
    expect(read("x".repeat(100_000), 1000).other).toHaveLength(16_384);
  });
});

test("Qwen Code's calls of several tools at once are all told, each with its result", async () => {
  const { cli } = await readManifest(fileURLToPath(new URL("../../plugins/qwen-code/", import.meta.url)));
  const rules = cli?.output?.format === "jsonl" ? cli.output.rules : [];
  const use = (id: string) => ({ type: "tool_use", id, name: "read_file", input: { path: id } });
  const answer = (id: string) => ({ type: "tool_result", tool_use_id: id, content: "ok", is_error: false });
  const events = [
    { type: "assistant", message: { content: [use("a"), use("b")] } },
    { type: "user", message: { content: [answer("a"), answer("b")] } },
  ].flatMap((one) => mapJsonLine(JSON.stringify(one), rules));
  expect(events.map((event) => "call_id" in event ? `${event.type} ${event.call_id}` : event.type)).toEqual([
    "tool_call a",
    "tool_call b",
    "tool_result a",
    "tool_result b",
  ]);
});
