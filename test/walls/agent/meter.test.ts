import { Buffer } from "node:buffer";
import process from "node:process";
import { describe, expect, test } from "vitest";
import { AnswerReader } from "../../../core/walls/agent/meter/answer-reader.ts";
import { anthropicMessages } from "../../../core/walls/agent/meter/anthropic-messages.ts";
import { geminiContent } from "../../../core/walls/agent/meter/gemini-content.ts";
import { createMeter, type MeteredCall } from "../../../core/walls/agent/meter/meter.ts";
import { openaiChat, openaiResponses } from "../../../core/walls/agent/meter/openai.ts";
import type { MeteredProtocol } from "../../../core/walls/agent/meter/protocol.ts";
import { callKind } from "../../../core/walls/agent/meter/protocols.ts";
import { quotaWindows, retryAfter } from "../../../core/walls/agent/meter/quota.ts";
import type { WireFollower } from "../../../core/walls/agent/wire.ts";

const event = (data: unknown, name?: string) =>
  `${name === undefined ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;

/** Figures that no answer has: those in words and in arguments of tools. */
const forged = {
  usage: { input_tokens: 1e6, output_tokens: -7 },
  usageMetadata: { promptTokenCount: 7 },
  model: "evil",
};
const said = JSON.stringify(forged);

const answers: readonly [name: string, protocol: MeteredProtocol, text: string, facts: object][] = [
  [
    "anthropic, streamed, with a cache",
    anthropicMessages,
    event({
      type: "message_start",
      message: {
        id: said,
        usage: { input_tokens: 3, cache_creation_input_tokens: 20, cache_read_input_tokens: 100, output_tokens: 1 },
        model: "claude-x",
      },
    }, "message_start") +
    ": ping\n\n" +
    event({ type: "content_block_delta", delta: { type: "input_json_delta", partial_json: said } }) +
    event({ type: "content_block_start", content_block: { type: "tool_use", input: forged } }) +
    event({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 42 } }, "message_delta"),
    { tokens_in: 123, tokens_cached: 100, tokens_out: 42, model: "claude-x", isFinal: true },
  ],
  [
    "anthropic, whole",
    anthropicMessages,
    JSON.stringify(
      {
        model: "claude-x",
        content: [{ type: "text", text: said }, { type: "tool_use", input: forged }],
        usage: { input_tokens: 9, output_tokens: 4 },
      },
      null,
      2,
    ),
    { tokens_in: 9, tokens_cached: 0, tokens_out: 4, model: "claude-x", isFinal: true },
  ],
  [
    "openai responses, streamed, its last line longer than anything kept",
    openaiResponses,
    event({ type: "response.created", response: { model: "gpt-x", usage: null, output: [] } }) +
    event({
      type: "response.completed",
      response: {
        model: "gpt-x",
        output: [{ text: `${said}"\\`.repeat(120), arguments: forged }],
        usage: { input_tokens: 100, input_tokens_details: { cached_tokens: 60 }, output_tokens: 20 },
        metadata: {},
      },
    }),
    { tokens_in: 100, tokens_cached: 60, tokens_out: 20, model: "gpt-x", isFinal: true },
  ],
  [
    "openai chat, streamed, with lines that end in CR LF",
    openaiChat,
    (event({ model: "gpt-y", choices: [{ delta: { content: said } }], usage: null }) +
      event({
        model: "gpt-y",
        choices: [],
        usage: { prompt_tokens: 100, completion_tokens: 20, prompt_tokens_details: { cached_tokens: 5 } },
      }) +
      "data: [DONE]\n\n").replaceAll("\n", "\r\n"),
    { tokens_in: 100, tokens_cached: 5, tokens_out: 20, model: "gpt-y", isFinal: true },
  ],
  [
    "gemini, streamed: the last figures count",
    geminiContent,
    event({
      candidates: [{ content: { parts: [{ functionCall: { args: forged } }] } }],
      usageMetadata: { promptTokenCount: 100 },
    }) +
    event({
      candidates: [],
      usageMetadata: {
        promptTokenCount: 100,
        candidatesTokenCount: 20,
        thoughtsTokenCount: 5,
        cachedContentTokenCount: 30,
        toolUsePromptTokenCount: 8,
      },
      modelVersion: "gemini-z",
    }),
    { tokens_in: 108, tokens_cached: 30, tokens_out: 25, model: "gemini-z", isFinal: true },
  ],
  [
    "gemini, as a list",
    geminiContent,
    JSON.stringify([{ candidates: [], usageMetadata: { promptTokenCount: 1 } }, {
      usageMetadata: { promptTokenCount: 2, candidatesTokenCount: 3 },
    }]),
    { tokens_in: 2, tokens_cached: 0, tokens_out: 3, isFinal: true },
  ],
  [
    "gemini, an error with a delay",
    geminiContent,
    JSON.stringify({ error: { code: 429, details: [{ "@type": "x" }, { retryDelay: "3.5s" }] } }),
    { retryMs: 3500, isFinal: false, tokens_in: null },
  ],
  [
    "anthropic, a later figure that is lower, and one without a cache",
    anthropicMessages,
    event({ message: { usage: { input_tokens: 3, cache_read_input_tokens: 100, output_tokens: 50 } } }) +
    event({ usage: { input_tokens: 13, output_tokens: 20 } }) +
    event({ usage: { output_tokens: 0 } }),
    { tokens_in: 113, tokens_cached: 100, tokens_out: 50, isFinal: true },
  ],
  [
    "anthropic, an event of several lines of data, and words between them",
    anthropicMessages,
    `data: {"message":{"model":"claude-x",\ndata: "usage":{"input_tokens":3,\ndata: "output_tokens":1\n: ping\n` +
    `data: }}}\n\n${event({ type: "ping" })}data: {"usage":{"output_tokens":4\ndata:\ndata: }\ndata: }\n\n`,
    { tokens_in: 3, tokens_out: 4, model: "claude-x", isFinal: true },
  ],
  [
    "anthropic, a later figure that cannot be",
    anthropicMessages,
    event({ message: { usage: { input_tokens: 3, output_tokens: 50 } } }) + event({ usage: { output_tokens: -7 } }),
    { tokens_in: 3, tokens_out: 50, isFinal: false },
  ],
  [
    "openai, a second usage that is lower",
    openaiChat,
    event({ usage: { prompt_tokens: 100, completion_tokens: 20, prompt_tokens_details: { cached_tokens: 5 } } }) +
    event({ usage: { prompt_tokens: 1, completion_tokens: 2 } }),
    { tokens_in: 100, tokens_cached: 5, tokens_out: 20, isFinal: true },
  ],
  [
    "gemini, a last piece that is lower",
    geminiContent,
    event({ usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 20, thoughtsTokenCount: 5 } }) +
    event({ usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 21 } }),
    { tokens_in: 100, tokens_out: 26, isFinal: true },
  ],
  [
    "a mark before JSON",
    anthropicMessages,
    '\ufeff {"usage":{"input_tokens":1,"output_tokens":2}}',
    { tokens_in: 1, tokens_out: 2 },
  ],
  [
    "a mark before events",
    anthropicMessages,
    '\ufeffdata: {"usage":{"input_tokens":1,"output_tokens":2}}\n\n',
    { tokens_in: 1, tokens_out: 2 },
  ],
  [
    "lines that end in CR alone",
    anthropicMessages,
    (event({ message: { usage: { input_tokens: 3, output_tokens: 1 } } }, "x") + event({ delta: said }) +
      event({ usage: { output_tokens: 42 } })).replaceAll("\n", "\r"),
    { tokens_in: 3, tokens_out: 42, isFinal: true },
  ],
  [
    "lines that end in this and that",
    anthropicMessages,
    'data: {"usage":{"output_tokens":1\r\n\ndata: {"usage":{"input_tokens":3,"output_tokens":42}}\r\n\r\n',
    { tokens_in: 3, tokens_out: 42, isFinal: true },
  ],
  [
    "keys with escaped letters, and one that only looks like it",
    anthropicMessages,
    event({ message: { usage: { input_tokens: 3, output_tokens: 1 } } }) +
    'data: {"\\u0075sage":{"output_t\\u006fkens":42},"usa\\\\u0067e":{"output_tokens":99}}\n\n' +
    'data: {"\\u0075sage":{"output_to\\u006bens":43}}\n\n',
    { tokens_in: 3, tokens_out: 43, isFinal: true },
  ],
  [
    "every letter of a long key escaped",
    geminiContent,
    `{"${
      [..."usageMetadata"].map((letter) => `\\u00${letter.charCodeAt(0).toString(16)}`).join("")
    }":{"promptTokenCount":7}}`,
    { tokens_in: 7 },
  ],
  [
    "data over two lines",
    anthropicMessages,
    'data: {"type":"message_delta",\ndata: "usage":{"input_tokens":1,"output_tokens":2}}\n\n',
    { tokens_in: 1, tokens_out: 2 },
  ],
];

describe("AnswerReader", () => {
  test.each(answers)("reads the figures, however it is cut: %s", (_, protocol, text, facts) => {
    for (const size of [1, 2, 3, 7, 61, 1000, 1e6]) {
      const reader = new AnswerReader(protocol);
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length; at += size) {
        const piece = Buffer.from(bytes.subarray(at, at + size));
        reader.push(piece);
        // The memory is used again.
        piece.fill(0);
      }
      expect(reader.facts, `pieces of ${size}`).toMatchObject(facts);
    }
  });

  test.each([
    ["negative", { input_tokens: -1, output_tokens: 2 }],
    ["huge", { input_tokens: 1e300, output_tokens: 2 }],
    ["a fraction", { input_tokens: 1.5, output_tokens: 2 }],
    ["a text", { input_tokens: "1", output_tokens: 2 }],
    ["negative in a part", { input_tokens: 1, cache_read_input_tokens: -1, output_tokens: 2 }],
    ["longer than is kept", { input_tokens: 1, output_tokens: 2, more: "x".repeat(9000) }],
    ["no object", [1, 2]],
  ])("takes no input that is %s", (_, usage) => {
    const reader = new AnswerReader(anthropicMessages);
    reader.push(Buffer.from(JSON.stringify({ usage })));
    expect(reader.facts.tokens_in).toBeNull();
  });

  test.each([
    ["an endless line", "data: " + "x".repeat(1000)],
    ["an endless string", 'data: {"usage":"' + "x".repeat(1000)],
    ["endless depth", '[{"usage":'.repeat(100)],
    ["endless keys", '{"usage' + "x".repeat(1000)],
    ["endless closing", "}]".repeat(500)],
    ["endless short lines", "x\n".repeat(500)],
    ["endless short lines before what tells", `${"x\n".repeat(500)}data: {"_tokens":`],
    ["endless small events", 'data: {"usage":{}}\n\n'.repeat(50)],
    ["endless empty lines of figures", "data:\n".repeat(1000), 'data: {"usage":{"a":\n'],
  ])("holds no more of %s", (_, text, begun = "") => {
    const reader = new AnswerReader(anthropicMessages);
    const piece = Buffer.from(text.repeat(64));
    const before = process.memoryUsage();
    reader.push(Buffer.from(begun));
    for (let times = 0; times < 50; times++) reader.push(piece);
    const { heapUsed, external } = process.memoryUsage();
    expect(heapUsed + external - before.heapUsed - before.external).toBeLessThan(64_000_000);
  });
});

describe("callKind", () => {
  const kind = (path: string, { method = "POST", base = "https://api.example.com" } = {}) => {
    const found = callKind({ method, path, base });
    return typeof found === "string" ? found : found.name;
  };

  test.each([
    ["/v1/messages", "anthropic_messages"],
    ["/v1/messages?beta=true", "anthropic_messages"],
    ["/v1/%6dessages", "anthropic_messages"],
    ["/v1/%256dessages", "anthropic_messages"],
    ["/v1/messages/", "anthropic_messages"],
    ["/v1%2fmessages", "anthropic_messages"],
    ["/v1/messages;x", "anthropic_messages"],
    ["/v1/messages;x=1;y/", "anthropic_messages"],
    ["/v1/batches;x/messages", "unknown"],
    ["/v1/batches%3Fx/messages", "unknown"],
    ["/v1/messages%2fcount_tokens", "unknown"],
    ["/v1/Messages", "anthropic_messages"],
    ["/v1/messages%3Fx", "anthropic_messages"],
    ["/v1/responses/compact", "openai_responses"],
    ["/v1/chat%2Fcompletions/", "openai_chat"],
    ["/v1beta/models/g:generateContent", "gemini_content"],
    ["/v1beta/models/g%3AgenerateContent", "gemini_content"],
    ["/v1beta/models/g:streamGenerateContent?alt=sse", "gemini_content"],
    ["/v1/messages/count_tokens?beta=true", "free"],
    ["/v1/messages/count_tokens/", "unknown"],
    ["/v1/responses/input_tokens", "free"],
    ["/v1/responses/resp_1/cancel", "free"],
    ["/v1beta/models/g:countTokens", "free"],
    ["/api/event_logging/batch", "free"],
    ["/v1/messages/batches", "unknown"],
    ["/v1/complete", "unknown"],
    ["/v1/completions", "unknown"],
    ["/v1beta/models/g:batchGenerateContent", "unknown"],
    ["/v1beta/interactions", "unknown"],
    ["/v1/models", "unknown"],
    ["/v1/messages?x=/count_tokens", "anthropic_messages"],
    ["/v1/batches?x=/messages/count_tokens", "unknown"],
    ["/v1/batches;/messages/count_tokens", "unknown"],
    ["/v1/messages%", "unknown"],
    ["", "unknown"],
  ])("of POST %s is %s", (path, expected) => expect(kind(path)).toBe(expected));

  test("knows methods, and the path of the model's own address", () => {
    for (const method of ["GET", "HEAD", "OPTIONS", "DELETE"]) expect(kind("/v1/models", { method })).toBe("free");
    for (const method of ["PUT", "PATCH"]) expect(kind("/v1/messages", { method })).toBe("unknown");
    expect(kind("", { base: "https://a.example/v1/messages" })).toBe("anthropic_messages");
    expect(kind("/responses", { base: "https://a.example/v1/" })).toBe("openai_responses");
  });
});

describe("createMeter", () => {
  const post = (path: string) => ({ method: "POST", path, headers: [], base: "https://api.example.com" });
  function meter(spent: (isRead: boolean) => string | null = () => null) {
    const calls: MeteredCall[] = [];
    let requests = 0;
    const wire = createMeter({ onRequest: () => requests++, onCall: (call) => calls.push(call), spent });
    return { wire, calls, requests: () => requests };
  }
  const follow = (begun: ReturnType<ReturnType<typeof meter>["wire"]["begin"]>) => begun as WireFollower;

  test("tells each call of a model once, and counts other requests", () => {
    const { wire, calls, requests } = meter();
    expect(wire.begin({ ...post("/v1/models"), method: "GET" })).toBeNull();
    follow(wire.begin(post("/v1/messages/count_tokens"))).answered?.({ status: 200, headers: [] });
    const call = follow(wire.begin(post("/v1/messages?beta=true")));
    call.sent?.(Buffer.from("{}"));
    call.answered?.({ status: 200, headers: [["anthropic-ratelimit-tokens-remaining", "7"]] });
    call.received?.(Buffer.from(JSON.stringify({ usage: { input_tokens: 1, output_tokens: 2 } })));
    call.ended?.(true);
    expect(requests()).toBe(2);
    expect(calls).toMatchObject([{
      status: 200,
      tokens_in: 1,
      tokens_out: 2,
      is_known: true,
      windows: [{ name: "tokens", remaining: 7 }],
    }]);
  });

  test("knows no whole figures of a call that broke off, and all of one that was refused", () => {
    const { wire, calls } = meter();
    for (const [status, isWhole] of [[200, false], [429, true], [307, true]] as const) {
      const call = follow(wire.begin(post("/v1/messages")));
      call.answered?.({ status, headers: [["Retry-After", "2"]] });
      if (status < 300) call.received?.(Buffer.from(event({ message: { usage: { input_tokens: 5 } } })));
      call.ended?.(isWhole);
    }
    expect(calls).toMatchObject([{ tokens_in: 5, is_known: false, retry_ms: null }, {
      is_known: true,
      retry_ms: 2000,
    }, { is_known: true, tokens_in: null, retry_ms: null }]);
  });

  test.each([
    ["/v1/messages", { type: "error", error: { type: "invalid_request_error", message: "spent" } }],
    ["/v1/responses", { error: { code: "budget_exceeded", message: "spent" } }],
    ["/v1/chat/completions", { error: { code: "budget_exceeded", message: "spent" } }],
    ["/v1beta/models/x:streamGenerateContent?alt=sse", {
      error: { code: 400, status: "FAILED_PRECONDITION", message: "spent" },
    }],
    ["/v1/else", { error: { message: "spent" } }],
  ])("refuses in the protocol's own words once all is spent: %s", async (path, body) => {
    const begun = meter(() => "spent").wire.begin(post(path));
    if (begun === null || !("answer" in begun)) return expect.unreachable();
    const given = await begun.answer(null);
    expect(given.status).toBe(400);
    expect(JSON.parse(Buffer.concat([...given.body as Iterable<Uint8Array>]).toString())).toMatchObject(body);
  });
});

describe("quotaWindows", () => {
  const now = Date.parse("2026-11-29T12:00:00Z");

  test("reads the windows of both kinds", () => {
    expect(quotaWindows([
      ["Anthropic-RateLimit-Input-Tokens-Limit", "1000"],
      ["anthropic-ratelimit-input-tokens-remaining", "10"],
      ["anthropic-ratelimit-input-tokens-reset", "2026-11-29T12:01:00Z"],
      ["x-ratelimit-remaining-images", "0"],
      ["x-ratelimit-reset-images", "1m2.5s"],
      ["x-ratelimit-remaining-tokens", "-1"],
      ["x-ratelimit-limit-tokens", "9".repeat(30)],
      ["anthropic-ratelimit-unified-5h-remaining", "3"],
      ["anthropic-ratelimit-unified-5h-reset", String(now / 1000 + 60)],
      ["x-ratelimit-remaining-far", "1"],
      ["x-ratelimit-reset-far", "9999h"],
      ["X-RateLimit-Limit", "20"],
      ["X-RateLimit-Remaining", "0"],
      ["X-RateLimit-Reset", String(now + 1500)],
    ], now)).toEqual([
      { name: "input_tokens", limit: 1000, remaining: 10, reset_at: "2026-11-29T12:01:00.000Z" },
      { name: "images", limit: null, remaining: 0, reset_at: "2026-11-29T12:01:02.500Z" },
      { name: "unified_5h", limit: null, remaining: 3, reset_at: "2026-11-29T12:01:00.000Z" },
      { name: "far", limit: null, remaining: 1, reset_at: null },
      { name: "requests", limit: 20, remaining: 0, reset_at: "2026-11-29T12:00:01.500Z" },
    ]);
  });

  test.each([
    ["60", "2026-11-29T12:01:00.000Z"],
    ["1", "2026-11-29T12:00:01.000Z"],
    ["0", "2026-11-29T12:00:00.000Z"],
    ["11.382867", "2026-11-29T12:00:11.382Z"],
    [String(now / 1000 + 60), "2026-11-29T12:01:00.000Z"],
    [String(now / 1000 + 60.5), "2026-11-29T12:01:00.500Z"],
    [String(now + 60_000), "2026-11-29T12:01:00.000Z"],
    ["6m0s", "2026-11-29T12:06:00.000Z"],
    ["20ms", "2026-11-29T12:00:00.020Z"],
    ["Sun, 29 Nov 2026 12:00:05 GMT", "2026-11-29T12:00:05.000Z"],
    ["2026-11-29T13:00:05+01:00", "2026-11-29T12:00:05.000Z"],
    ["-60", null],
    ["9".repeat(30), null],
    ["", null],
    ["soon", null],
  ])("reads a reset of %j as %j", (reset, at) => {
    const windows = quotaWindows([["x-ratelimit-remaining-requests", "1"], ["x-ratelimit-reset-requests", reset]], now);
    expect(windows[0]?.reset_at).toBe(at);
  });

  test("retryAfter: a wait in milliseconds is exact", () => {
    expect(retryAfter([["Retry-After", "2"], ["Retry-After-Ms", "1250"]], now)).toBe(1250);
    expect(retryAfter([["retry-after-ms", "soon"], ["retry-after", "2"]], now)).toBe(2000);
  });

  test.each([["2", 2000], ["Sun, 29 Nov 2026 12:00:05 GMT", 5000], ["-1", null], ["soon", null], ["999999999", null]])(
    "retryAfter: %j is %j",
    (value, ms) => expect(retryAfter([["retry-after", value]], now)).toBe(ms),
  );
});
