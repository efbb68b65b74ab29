import { RateLimitDetector } from "bulkhead/plugin-sdk";
import { describe, expect, test } from "vitest";
import { ChatStream } from "../../plugins/openai-compatible/chat-stream.ts";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";

// What no recording shows: legal but rare, or sent by other servers and programs than those that were recorded.
const detector = new RateLimitDetector([], { now: () => Date.UTC(2026, 0, 1) });

function printed(events: readonly AdapterEvent[]): string {
  return events.flatMap((event) => (event.type === "output" ? event.data : [])).join("");
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
