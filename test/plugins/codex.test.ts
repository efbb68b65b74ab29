import { describe, expect, test } from "vitest";
import { probeAdapter } from "bulkhead/plugin-sdk/testing";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";
import type { SessionRequest } from "../../plugin-sdk/request.ts";
import type { AdapterRun, RunAdapterOptions } from "../../plugin-sdk/testing.ts";
import { failureOf } from "../../plugins/codex/failures.ts";
import Codex from "../../plugins/codex/mod.ts";
import { TokenCounter } from "../../plugins/codex/token-counter.ts";
import { item, notice, over, recordedIn, runServer, type Sent, server } from "./codex-server.ts";
import { printed, recordingsIn } from "./recorded-lines.ts";

const fixtures = new URL("../fixtures/codex/", import.meta.url);

interface Played {
  request?: Partial<SessionRequest>;
  options?: RunAdapterOptions;
}

async function play(name: string, how: Played = {}): Promise<AdapterRun & { sent: Sent[] }> {
  return await runServer(await recordedIn(new URL(`${name}.jsonl`, fixtures)), how);
}

/** The events of a session in which Codex says this, without its first event and its last. */
async function read(...said: object[]): Promise<AdapterEvent[]> {
  const { events, violations } = await runServer(server((id) => [...said, over(id)]));
  expect(violations).toEqual([]);
  return events.slice(1, -1);
}

function paramsOf(sent: readonly Sent[], method: string): unknown[] {
  return sent.filter((one) => one.method === method).map(({ params }) => params);
}

test("every recording of Codex says each text once", async () => {
  const texts: Record<string, string> = {};
  for (const name of await recordingsIn(fixtures)) {
    if (!name.startsWith("stopped")) texts[name] = printed((await play(name)).events);
  }
  expect(texts).toMatchInlineSnapshot(`
    {
      "400ctx": "",
      "401": "",
      "429": "",
      "429once": "done",
      "429sub": "",
      "500": "",
      "asks-command": "I will run a command.
    done",
      "asks-patch": "I will create the file.
    done",
      "badtool": "Calling.
    done",
      "cut": "partial
    partial
    partial",
      "denied-command": "I will run a command.
    done",
      "denied-patch": "I will create the file.
    done",
      "errevent": "partial
    partial",
      "gpt5-failcmd": "Failing.
    done",
      "gpt5-ok": "done",
      "gpt5-patch": "Patching.
    done",
      "gpt5-plan": "Planning.",
      "gpt5-tool": "I will create the file.
    done",
      "malformed": "partial
    partial",
      "ok": "done",
      "resume1": "done",
      "resume2": "done",
      "shell": "I will run a command.
    done",
      "term-shell": "Running something long.",
      "tool": "I will create the file.
    done",
      "twotools": "Two calls.
    done",
    }
  `);
});

describe("the thread of Codex", () => {
  test("a session that calls a tool: its text once, its thoughts, its usage and its answer", async () => {
    const { events, violations } = await play("tool");
    expect(violations).toEqual([]);
    expect(events).toMatchInlineSnapshot(`
      [
        {
          "message": "Model metadata for \`mock-model\` not found. Defaulting to fallback metadata; this can degrade performance and cause issues.",
          "type": "progress",
        },
        {
          "agent_session_id": "00000000-0000-4000-8000-000000000002",
          "agent_version": "0.171.0",
          "model": "mock-model",
          "type": "agent_info",
        },
        {
          "content": "I should ",
          "type": "thinking",
        },
        {
          "content": "think about this ",
          "type": "thinking",
        },
        {
          "content": "for a moment.",
          "type": "thinking",
        },
        {
          "data": "I will ",
          "stream": "stdout",
          "type": "output",
        },
        {
          "data": "create the file.",
          "stream": "stdout",
          "type": "output",
        },
        {
          "call_id": "call_2ns1n9xjvx",
          "input": {
            "command": "/bin/bash -lc 'echo hi > hello.txt'",
          },
          "kind": "execute",
          "tool": "shell",
          "type": "tool_call",
        },
        {
          "call_id": "call_2ns1n9xjvx",
          "duration_ms": 0,
          "output": {
            "exit_code": 0,
            "output": "",
          },
          "success": true,
          "tool": "shell",
          "type": "tool_result",
        },
        {
          "cost": null,
          "model": "mock-model",
          "scope": "turn",
          "tokens_cached": 0,
          "tokens_in": 100,
          "tokens_out": 20,
          "type": "usage",
        },
        {
          "content": "I should ",
          "type": "thinking",
        },
        {
          "content": "think about this ",
          "type": "thinking",
        },
        {
          "content": "for a moment.",
          "type": "thinking",
        },
        {
          "data": "
      do",
          "stream": "stdout",
          "type": "output",
        },
        {
          "data": "ne",
          "stream": "stdout",
          "type": "output",
        },
        {
          "cost": null,
          "model": "mock-model",
          "scope": "turn",
          "tokens_cached": 0,
          "tokens_in": 100,
          "tokens_out": 20,
          "type": "usage",
        },
        {
          "cost": null,
          "files_changed": [],
          "output": "done",
          "success": true,
          "tokens_used": null,
          "type": "completed",
        },
      ]
    `);
  });

  test("texts come as they are written, and a thought's parts stand apart", async () => {
    const delta = (itemId: string, text: string, of = "agentMessage/delta") =>
      notice(`item/${of}`, { itemId, delta: text });
    const events = await read(
      delta("a", "Hm", "reasoning/summaryTextDelta"),
      notice("item/reasoning/summaryPartAdded", { itemId: "a", summaryIndex: 1 }),
      delta("a", "so.", "reasoning/summaryTextDelta"),
      item({ id: "a", type: "reasoning", summary: ["Hm", "so. Yes"], content: [] }),
      delta("b", "Hel"),
      delta("b", "lo"),
      item({ id: "b", type: "agentMessage", text: "Hello!" }),
      item({ id: "c", type: "agentMessage", text: "whole" }),
      delta("d", "with a note"),
      item({ id: "d", type: "agentMessage", text: "without" }),
    );
    expect(printed(events)).toBe("Hello!\nwhole\nwith a note");
    expect(events.flatMap((event) => (event.type === "thinking" ? event.content : [])).join("")).toBe(
      "Hm\n\nso. Yes",
    );
  });

  test("a patch is a tool call, and then the files it changed", async () => {
    const { events, last } = await play("gpt5-tool");
    expect(events.filter(({ type }) => type.startsWith("tool") || type === "file_change")).toEqual([
      {
        type: "tool_call",
        call_id: expect.any(String),
        tool: "apply_patch",
        kind: "edit",
        input: { changes: [{ path: "/work/hello.txt", kind: "add", diff: "hi\n" }] },
      },
      expect.objectContaining({ type: "tool_result", tool: "apply_patch", output: null, success: true }),
      { type: "file_change", path: "/work/hello.txt", action: "create" },
    ]);
    expect(last).toMatchObject({ type: "completed", files_changed: ["/work/hello.txt"] });
    const moved = { path: "/a", kind: { type: "update", move_path: "/b" }, diff: "" };
    expect(await read(item({ type: "fileChange", status: "completed", changes: [moved] }))).toContainEqual({
      type: "file_change",
      path: "/b",
      from: "/a",
      action: "rename",
    });
  });

  test("a command that fails is a tool result without success, and the session goes on", async () => {
    const { events, last } = await play("gpt5-failcmd");
    expect(events).toContainEqual({
      type: "tool_result",
      call_id: expect.any(String),
      tool: "shell",
      output: { exit_code: 3, output: "oops\n" },
      success: false,
      duration_ms: expect.any(Number),
    });
    expect(last).toMatchObject({ type: "completed", success: true });
  });

  test.each([
    [["read", "read"], "read"],
    [["search"], "search"],
    [["listFiles", "read"], "read"],
    [["read", "unknown"], "execute"],
    [[], "execute"],
  ])("a command that is read as %j is of the kind %s", async (types, kind) => {
    const commandActions = types.map((type) => ({ type }));
    const events = await read(item({ type: "commandExecution", command: "x", commandActions, exitCode: 0 }));
    expect(events[0]).toMatchObject({ type: "tool_call", tool: "shell", kind });
  });

  test.each([
    ["401", "unavailable", false],
    ["429", "rate_limit", true],
    ["429sub", "rate_limit", true],
    ["500", "unavailable", true],
    ["400ctx", "context_overflow", false],
    ["malformed", "unavailable", true],
    ["cut", "unavailable", true],
    ["errevent", "unavailable", true],
  ])("recording %s fails with %s, once", async (name, code, recoverable) => {
    const { events } = await play(name);
    const errors = events.filter((event) => event.type === "error");
    expect(errors).toEqual([{ type: "error", code, message: expect.any(String), recoverable }]);
    expect(events.at(-1)).toBe(errors[0]);
    const said = errors[0]?.message;
    expect(events.filter((event) => event.type === "progress" && event.message === said)).toEqual([]);
    expect(events.filter(({ type }) => type === "rate_limit").length).toBe(code === "rate_limit" ? 1 : 0);
  });

  test("an error that the turn got over is told as something that passed", async () => {
    const error = { message: "a tool server is away", codexErrorInfo: null };
    expect(await read(notice("error", { error, willRetry: false }))).toEqual([
      { type: "progress", message: "a tool server is away" },
    ]);
  });

  test("a plan is given when it changes", async () => {
    const plan = (status: string) => notice("turn/plan/updated", { plan: [{ step: "a", status }] });
    expect(await read(plan("pending"), plan("inProgress"), plan("inProgress"))).toEqual([
      { type: "plan", entries: [{ content: "a", status: "pending" }] },
      { type: "plan", entries: [{ content: "a", status: "in_progress" }] },
    ]);
  });

  test.each([
    [{ type: "mcpToolCall", server: "s", tool: "t", arguments: { a: 1 }, result: { content: [] }, error: null }, "s.t"],
    [{ type: "webSearch", query: "q", action: { type: "search" } }, "web_search"],
    [{ type: "collabAgentToolCall", tool: "spawnAgent", prompt: "p", receiverThreadIds: [] }, "spawnAgent"],
    [{ type: "imageView", path: "/a.png" }, "view_image"],
  ])("an item that comes only when it is done is a whole call: %j", async (of, tool) => {
    expect(await read(item({ ...of, status: "completed" }))).toMatchObject([
      { type: "tool_call", call_id: "item", tool },
      { type: "tool_result", call_id: "item", tool, success: true },
    ]);
    expect((await read(item({ ...of, status: "failed" }))).at(-1)).toMatchObject({ success: false });
  });

  test("a helper's words are told, what it changes counts, and its tokens are the session's", async () => {
    const ofHelper = (method: string, params: object) => ({ method, params: { threadId: "other", ...params } });
    const changes = [{ path: "/x", kind: { type: "add" }, diff: "" }];
    const total = { inputTokens: 5, outputTokens: 2, cachedInputTokens: 1 };
    const events = await read(
      ofHelper("item/completed", { item: { id: "i", type: "agentMessage", text: "found" } }),
      ofHelper("item/completed", { item: { id: "j", type: "fileChange", status: "completed", changes } }),
      ofHelper("thread/tokenUsage/updated", { turnId: "t", tokenUsage: { total, last: total } }),
      ofHelper("turn/completed", { turn: { id: "t", status: "completed" } }),
    );
    expect(events).toMatchObject([
      { type: "agent_started", agent_id: "other", name: "helper" },
      { type: "progress", message: "[sub-agent helper] found", agent_id: "other" },
      { type: "file_change", path: "/x", agent_id: "other" },
      { type: "usage", tokens_in: 5, tokens_out: 2, tokens_cached: 1 },
      {
        type: "agent_ended",
        outcome: "completed",
        output: "found",
        usage: { tokens_in: 5, tokens_out: 2, tokens_cached: 1, cost: null },
      },
    ]);
  });

  test("a helper has the name, the prompt and the call that it is given, and may have helpers of its own", async () => {
    const spawn = (id: string) => ({
      id: `call-${id}`,
      type: "collabAgentToolCall",
      tool: "spawnAgent",
      prompt: `Look, ${id}.`,
      receiverThreadIds: [id],
      status: "completed",
    });
    const events = await read(
      { method: "thread/started", params: { thread: { id: "a", parentThreadId: "thread", agentNickname: "Ada" } } },
      item(spawn("a")),
      { method: "thread/started", params: { thread: { id: "b", parentThreadId: "a" } } },
      { method: "item/completed", params: { threadId: "a", item: spawn("b") } },
      item({ type: "subAgentActivity", kind: "started", agentThreadId: "c", agentPath: "/root/look" }),
      item({ type: "subAgentActivity", kind: "interrupted", agentThreadId: "c", agentPath: "/root/look" }),
      { method: "turn/completed", params: { threadId: "b", turn: { id: "t", status: "failed" } } },
    );
    expect(events.filter(({ type }) => type.startsWith("agent_"))).toEqual([
      { type: "agent_started", agent_id: "a", call_id: "call-a", name: "Ada", prompt: "Look, a." },
      { type: "agent_started", agent_id: "b", call_id: "call-b", parent: "a", name: "helper", prompt: "Look, b." },
      { type: "agent_started", agent_id: "c", name: "look" },
      { type: "agent_ended", agent_id: "c", outcome: "stopped" },
      { type: "agent_ended", agent_id: "b", outcome: "error" },
    ]);
  });

  test.each([
    [notice("turn/paused")],
    [item({ id: "x", type: "hologram" })],
    [notice("item/completed", { item: { type: "agentMessage", text: "no id" } })],
    [notice("item/completed")],
    [notice("error")],
    [["a", "list"]],
    [{ neither: "nor" }],
  ])("what it does not know stays as it came: %j", async (row) => {
    expect(await read(row)).toEqual([{ type: "unparsed", data: row }]);
  });

  test("a line that is not JSON is output, and a cut line of the protocol unparsed", async () => {
    const lines = server((id) => [over(id)]);
    const { events } = await runServer((message) =>
      message.method === "turn/start" ? ["hello\n", '{"method":"turn\n', " \n", ...lines(message)] : lines(message)
    );
    expect(events.slice(1, -1)).toEqual([
      { type: "output", stream: "stdout", data: "hello\n" },
      { type: "unparsed", data: '{"method":"turn' },
    ]);
  });
});

test.each([
  ["Your request was flagged as potentially violating our usage policy.", null, "refused", false],
  ["unexpected status 403 Forbidden: no", null, "unavailable", false],
  ["Selected model is at capacity. Please try a different model.", null, "unavailable", true],
  ["no", "contextWindowExceeded", "context_overflow", false],
  ["no", { httpConnectionFailed: { httpStatusCode: 401 } }, "unavailable", false],
  ["no", { responseTooManyFailedAttempts: { httpStatusCode: 429 } }, "rate_limit", true],
  ["no", { responseStreamDisconnected: { httpStatusCode: null } }, "unavailable", true],
  ["no", { responseStreamDisconnected: { httpStatusCode: 400 } }, "fatal", false],
  ["something else", "toString", "fatal", false],
  [
    "This chat uses model provider “bulkhead”, which is no longer configured. Restore this provider’s configuration to continue.",
    undefined,
    "unavailable",
    false,
  ],
])("failureOf reads %j with %j as %s", (message, info, code, recoverable) => {
  expect(failureOf(message, info)).toEqual({ type: "error", code, message, recoverable });
});

test("TokenCounter gives what came, and nothing of the sessions before or twice", () => {
  const report = (all: number, last: number) => ({
    threadId: "t",
    tokenUsage: {
      total: { inputTokens: all, outputTokens: all, cachedInputTokens: 0 },
      last: { inputTokens: last, outputTokens: last, cachedInputTokens: 0 },
    },
  });
  const resumed = new TokenCounter();
  expect(resumed.take(report(240, 120), true)).toBe(null);
  expect(resumed.take(report(250, 10), false)).toEqual({ in: 10, out: 10, cached: 0 });
  expect(resumed.take(report(250, 10), false)).toBe(null);
  expect(resumed.take(report(300, 20), false)).toEqual({ in: 50, out: 50, cached: 0 });
  // Where Codex does not say what was before, its first call is all that is new.
  expect(new TokenCounter().take(report(300, 20), false)).toEqual({ in: 20, out: 20, cached: 0 });
});

describe("the adapter of Codex", () => {
  const done = server((id) => [over(id)]);
  const subscription = { type: "subscription", plan: "p", rate_limits: {}, enabled: true } as const;

  test("opens a thread without its folder, and gives it the prompt", async () => {
    const { calls, sent, last } = await runServer(done, {
      request: { prompt: "--help me", model: "gpt-5.5", params: { sandbox: "read-only" } },
      options: { config: { access_modes: [subscription] } },
    });
    expect(last).toMatchObject({ type: "completed", success: true });
    expect(calls[0]).toMatchObject({
      args: ["app-server"],
      options: { env: { CODEX_API_KEY: "" }, stdin: "open" },
      stdin_closed: true,
    });
    expect(sent.map(({ method }) => method)).toEqual(["initialize", "initialized", "thread/start", "turn/start"]);
    // Codex notes a folder that it is told as trusted, and obeys the settings in it from then on.
    expect(paramsOf(sent, "thread/start")).toEqual([
      { sandbox: "read-only", model: "gpt-5.5", approvalPolicy: "never" },
    ]);
    expect(paramsOf(sent, "turn/start")).toMatchObject([{ threadId: "thread", input: [{ text: "--help me" }] }]);
  });

  test("goes on with a thread in the session's folder, and inside walls without Codex's own sandbox", async () => {
    const { sent, events } = await runServer(done, {
      request: { continue_from: "01a2" },
      options: { config: { programs_contained: true } },
    });
    expect(paramsOf(sent, "thread/resume")).toEqual([
      { threadId: "01a2", cwd: "/work", excludeTurns: true, sandbox: "danger-full-access", approvalPolicy: "never" },
    ]);
    expect(events[0]).toEqual({
      type: "agent_info",
      agent_session_id: "thread",
      agent_version: "0.171.0",
      model: "gpt-5.5",
    });
  });

  test("gives the schema of a turn to Codex", async () => {
    const output_schema = { type: "object" };
    const { sent } = await runServer(done, { options: { turns: [{ output_schema }] } });
    expect(paramsOf(sent, "turn/start")).toMatchObject([{ outputSchema: output_schema }]);
  });

  test.each([
    [{ params: { sandbox: "danger-full-access" } }, "invalid_request"],
    [{ model: "-c" }, "invalid_model"],
    [{ continue_from: "--last" }, "invalid_request"],
  ])("refuses %j", async (request, code) => {
    expect((await runServer(done, { request })).error).toMatchObject({ code });
  });

  test("fails where Codex refuses, or ends without a last word", async () => {
    const refused = await runServer(
      (message) =>
        message.method === "thread/resume"
          ? [{ id: message.id, error: { code: -32600, message: "no rollout found for thread id x" } }]
          : done(message),
      { request: { continue_from: "x" } },
    );
    expect(refused.events).toEqual([
      { type: "error", code: "fatal", message: "no rollout found for thread id x", recoverable: false },
    ]);
    const silent = await runServer(({ method }) => method === "initialize" ? [null] : []);
    expect(silent.last).toMatchObject({ type: "error", code: "crash" });
  });

  test("reads the time that a plan's limit names", async () => {
    const message = "You’ve hit your usage limit. Upgrade to Pro or try again at Nov 22nd, 2099 12:29 AM.";
    const error = { message, codexErrorInfo: "usageLimitExceeded" };
    const { events } = await runServer(server((id) => [over(id, { status: "failed", error })]));
    expect(events[1]).toMatchObject({ type: "rate_limit", message, wait_ms: expect.any(Number) });
    expect(events[2]).toMatchObject({ type: "error", code: "rate_limit", recoverable: true });
  });

  test("what its log says on standard error is left out, and nothing else", async () => {
    const log = "2026-11-28T18:10:57.519088Z ERROR codex_core::tools::router: error=patch rejected by user\n";
    const { events } = await runServer(done, {
      stderr: `first\n${log}    1. more of it\n\nlast\n`,
    });
    expect(events.flatMap((event) => event.type === "output" ? event.data : []).join("")).toBe("first\nlast\n");
  });

  test("knows whether it is there and logged in", async () => {
    const version = { args: "--version", stdout: "codex-cli 0.169.0\n" };
    const report = async (login: object) =>
      (await probeAdapter(Codex, { processes: [version, { args: "login status", ...login }] })).report;
    expect(await report({ stderr: "Logged in using ChatGPT" })).toMatchObject({
      availability: "available",
      version: "0.169.0",
    });
    expect(await report({ stderr: "Not logged in", exit_code: 1 })).toMatchObject({
      availability: "unauthenticated",
      next_step: "Run codex login.",
    });
    const broken = await probeAdapter(Codex, { processes: [{ args: "--version", exit_code: 1, stderr: "no" }] });
    expect(broken.report).toMatchObject({ availability: "unrunnable" });
  });
});
