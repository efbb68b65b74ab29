import { RateLimitDetector } from "bulkhead/plugin-sdk";
import { describe, expect, test } from "vitest";
import { chooseAccess, replacedModel } from "../../plugins/openai-compatible/access.ts";
import { ChatStream } from "../../plugins/openai-compatible/chat-stream.ts";
import { failureEvents, failureKind } from "../../plugins/openai-compatible/failures.ts";
import { SseReader } from "../../plugin-sdk/sse-reader.ts";

const detector = new RateLimitDetector([], { now: () => Date.UTC(2026, 0, 1) });

function readAll(pieces: readonly string[]): string[] {
  const reader = new SseReader();
  return [...pieces.flatMap((piece) => reader.take(piece)), ...reader.end()];
}

describe("SseReader", () => {
  test.each([
    ["lines of each kind", "data: a\n\ndata: b\r\n\r\ndata: c\r\r", ["a", "b", "c"]],
    ["comments and other fields", ": ping\n\nevent: x\nid: 1\nretry: 5\ndata: a\n: more\n\n", ["a"]],
    ["several data lines as one", "data: a\ndata: b\ndata\ndata:  c\n\n", ["a\nb\n\n c"]],
    ["an end without a blank line", "data: a\n\ndata: [DONE]", ["a", "[DONE]"]],
    ["a byte order mark", "\ufeffdata: a\n\n", ["a"]],
    ["fields that only begin alike", "database: a\ndata:b\n\n", ["b"]],
    ["nothing", "", []],
  ])("reads %s", (_name, text, events) => {
    expect(readAll([text])).toEqual(events);
  });

  test("gives the same events however the text is cut", () => {
    const text =
      '\ufeffdata: {"a":"é😀"}\r\n\r\n: keep\r\ndata: b\rdata: c\n\r\nid: 3\r\n\r\ndata: d\r\r\ndata: [DONE]\r';
    const whole = readAll([text]);
    expect(whole).toEqual(['{"a":"é😀"}', "b\nc", "d", "[DONE]"]);
    for (let at = 0; at <= text.length; at++) expect(readAll([text.slice(0, at), text.slice(at)])).toEqual(whole);
    expect(readAll(text.split(""))).toEqual(whole);
    const random = generator(7);
    for (let round = 0; round < 500; round++) {
      const pieces: string[] = [];
      for (let at = 0; at < text.length;) {
        const length = Math.floor(random() * 9);
        pieces.push(text.slice(at, at + length));
        at += length;
      }
      expect(readAll(pieces)).toEqual(whole);
    }
  });

  test("refuses an event that has no end", () => {
    const reader = new SseReader();
    reader.take("data: ");
    expect(() => {
      for (let round = 0; round < 10; round++) reader.take("x".repeat(1024 * 1024));
    }).toThrow("an event is longer than");
  });
});

describe("ChatStream", () => {
  const chunk = (delta: object, rest: object = {}) => JSON.stringify({ model: "m", choices: [{ delta, ...rest }] });
  const read = (...data: string[]) => {
    const chat = new ChatStream({ prices: { input: 1, output: 2, cached: 0.1, currency: "USD" }, detector });
    return [...data.flatMap((one) => chat.take(one)), ...chat.ending()];
  };

  test.each(["reasoning_content", "reasoning"])("takes thinking from %s", (name) => {
    const events = read(chunk({ [name]: "hm" }), chunk({ content: "yes" }, { finish_reason: "stop" }));
    expect(events).toMatchObject([
      { type: "thinking", content: "hm" },
      { type: "output", data: "yes" },
      { type: "completed", success: true, tokens_used: null },
    ]);
  });

  test("tells thinking once where both names hold it", () => {
    const events = read(chunk({ reasoning: "hm", reasoning_content: "hm" }), "[DONE]");
    expect(events.map(({ type }) => type)).toEqual(["thinking", "completed"]);
  });

  test("takes usage from a chunk without choices, with its cost", () => {
    const usage = { prompt_tokens: 1000, completion_tokens: 500, prompt_tokens_details: { cached_tokens: 10 } };
    const events = read(chunk({}, { finish_reason: "stop" }), JSON.stringify({ choices: [], usage }), "[DONE]");
    expect(events).toEqual([
      {
        type: "usage",
        scope: "session",
        tokens_in: 1000,
        tokens_out: 500,
        tokens_cached: 10,
        cost: 1.991,
        currency: "USD",
        model: "m",
      },
      { type: "completed", success: true, files_changed: [], tokens_used: 1500, cost: 1.991 },
    ]);
  });

  test.each([
    ["length", "output_limit"],
    ["content_filter", "refused"],
  ])("ends at finish_reason %s as %s", (finish_reason, code) => {
    expect(read(chunk({ content: "a" }, { finish_reason }), "[DONE]").at(-1)).toMatchObject({ type: "error", code });
  });

  test("shows a refusal and ends as refused", () => {
    expect(read(chunk({ refusal: "No." }, { finish_reason: "stop" }))).toMatchObject([
      { type: "output", data: "No." },
      { type: "error", code: "refused" },
    ]);
  });

  test("keeps what it does not know, and calls of tools that nobody offered", () => {
    const strange = { type: "new" };
    const call = JSON.parse(chunk({ tool_calls: [{ index: 0 }] })) as object;
    expect(read(JSON.stringify(strange), JSON.stringify(call), "7", "[DONE]").slice(0, -1)).toEqual([
      { type: "unparsed", data: strange },
      { type: "unparsed", data: call },
      { type: "unparsed", data: 7 },
    ]);
  });

  test("fails at what is not JSON, and at an error, whatever follows", () => {
    expect(read(chunk({ content: "a" }), "{oops", chunk({ content: "b" }))).toMatchObject([
      { type: "output", data: "a" },
      { type: "unparsed", data: "{oops" },
      { type: "error", code: "malformed_stream" },
    ]);
    expect(read('{"error":{"message":"Slow down","type":"rate_limit_error","code":429}}', "[DONE]")).toMatchObject([
      { type: "rate_limit" },
      { type: "error", code: "rate_limit" },
    ]);
    expect(read('{"error":"the runner was killed","code":500}')).toMatchObject([{
      type: "error",
      code: "unavailable",
    }]);
  });

  test("takes a stream without its last word for one that was cut", () => {
    expect(read(chunk({ content: "a" })).at(-1)).toMatchObject({ code: "crash", recoverable: true });
    expect(read()).toMatchObject([{ code: "crash" }]);
  });
});

describe("failures", () => {
  const body = (error: unknown) => JSON.stringify({ error });
  test.each([
    [429, body({ message: "Slow down", type: "requests" }), "rate_limit"],
    [429, body({ message: "You exceeded your current quota", code: "insufficient_quota" }), "quota_exhausted"],
    [402, "", "quota_exhausted"],
    [401, body({ message: "No key", code: "invalid_api_key" }), "unauthenticated"],
    [403, "<html>", "unauthenticated"],
    [400, body({ message: "long", code: "context_length_exceeded" }), "context_overflow"],
    [400, body({ code: 400, message: "no", type: "exceed_context_size_error" }), "context_overflow"],
    [400, '{"object":"error","message":"This model\'s maximum context length is 8"}', "context_overflow"],
    [404, body("model 'x' not found, try pulling it first"), "invalid_model"],
    [404, '{"detail":"Not Found"}', "fatal"],
    [400, body({ message: "filtered", code: "content_filter" }), "refused"],
    [422, '{"detail":[{"msg":"field required"}]}', "fatal"],
    [500, "", "unavailable"],
    [503, body({ message: "Loading model", type: "unavailable_error" }), "unavailable"],
    [0, body({ message: "x", type: "server_error" }), "unavailable"],
  ])("a %i with %s is %s", (status, text, kind) => {
    expect(failureKind({ status, headers: {}, body: text })).toBe(kind);
  });

  test.each([
    [{ "retry-after": "7" }, "", 7000],
    [{ "retry-after-ms": "1500" }, "", 2000],
    [{ "retry-after": "Thu, 01 Jan 2026 00:01:00 GMT" }, "", 60_000],
    [{ "x-ratelimit-reset-requests": "1m30s", "x-ratelimit-reset-tokens": "6s" }, "", 90_000],
    [
      {
        "x-ratelimit-reset-requests": "1m30s",
        "x-ratelimit-remaining-requests": "5",
        "x-ratelimit-reset-tokens": "6s",
        "x-ratelimit-remaining-tokens": "0",
      },
      "",
      6000,
    ],
    [{ "x-ratelimit-reset": "1767225630" }, "", 30_000],
    [{ "x-ratelimit-reset": "12" }, "", 12_000],
    [{}, "Please try again in 20s.", 20_000],
    [{}, "Slow down.", null],
  ])("a 429 with %j and %j waits %s ms", (headers, message, wait_ms) => {
    const events = failureEvents({ status: 429, headers: { ...headers }, body: body({ message }) }, detector);
    expect(events).toMatchObject([{ type: "rate_limit", wait_ms }, { code: "rate_limit", recoverable: true }]);
  });

  test("an account that is empty is not worth another try", () => {
    expect(failureEvents({ status: 402, headers: { "retry-after": "3" }, body: "" }, detector)).toMatchObject([
      { type: "rate_limit", wait_ms: null },
      { code: "rate_limit", recoverable: false },
    ]);
  });
});

describe("chooseAccess", () => {
  const pricing = { input_per_1k_tokens: null, output_per_1k_tokens: null, currency: "USD" };
  const access_modes = [
    { type: "subscription", enabled: true, plan: "p", rate_limits: {} },
    { type: "api", enabled: true, model: "big", endpoint: "https://a.example/v1/", max_tokens: 5, pricing },
    { type: "local", enabled: true, model: "small", endpoint: "http://localhost:1/v1" },
  ] as const;
  const choose = (custom: Record<string, unknown>) =>
    chooseAccess({ working_directory: "/", access_modes: [...access_modes], custom });

  test("takes the first mode that has a server, or the one that the operator keeps to", () => {
    expect(choose({})).toMatchObject({ type: "api", endpoint: "https://a.example/v1", model: "big", prices: null });
    expect(choose({ mode: "local", local_model: "tiny", max_tokens: 9 })).toMatchObject({
      type: "local",
      model: "tiny",
      maxTokens: 9,
      prices: { input: 0, output: 0, cached: 0, currency: null },
    });
  });

  test("knows prices only when both are told", () => {
    expect(choose({ input_per_1k_tokens: 1 })?.prices).toBe(null);
    expect(choose({ input_per_1k_tokens: 1, output_per_1k_tokens: 2, currency: "EUR" })?.prices).toEqual({
      input: 1,
      output: 2,
      cached: null,
      currency: "EUR",
    });
  });

  test("lets no local model take the place of the one that the operator named", () => {
    const replaced = (custom: Record<string, unknown>, type: "api" | "local" = "local") => {
      const config = {
        working_directory: "/",
        access_modes: access_modes.filter((mode) => mode.type === type),
        custom,
      };
      return replacedModel(config, chooseAccess(config)!);
    };
    expect(replaced({ model: "mine" })).toBe("mine");
    expect(replaced({ model: "mine", local_model: "small-one" })).toBe(null);
    expect(replaced({ model: "mine", mode: "local" })).toBe(null);
    expect(replaced({})).toBe(null);
    expect(replaced({ model: "mine" }, "api")).toBe(null);
  });

  test("finds none when no mode is left", () => {
    expect(chooseAccess({ working_directory: "/", access_modes: [] })).toBe(null);
  });
});

/** Numbers from 0 to 1 that are the same in every run. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1664525 + 1013904223) % 2 ** 32;
    return state / 2 ** 32;
  };
}
