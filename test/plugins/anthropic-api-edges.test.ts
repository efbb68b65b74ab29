import { RateLimitDetector } from "bulkhead/plugin-sdk";
import { describe, expect, test } from "vitest";
import { MessageStream } from "../../plugins/anthropic-api/message-stream.ts";

// What no recording shows: legal but rare, or sent by other servers and programs than those that were recorded.
const detector = new RateLimitDetector([], { now: () => Date.UTC(2026, 0, 1) });

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
