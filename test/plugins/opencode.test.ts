import { describe, expect, test } from "vitest";
import { probeAdapter, runAdapter } from "bulkhead/plugin-sdk/testing";
import { failureOf } from "../../plugins/opencode/failures.ts";
import OpenCode from "../../plugins/opencode/mod.ts";
import { RunStream } from "../../plugins/opencode/run-stream.ts";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";
import { printed, type ReadRecording, readRecording, recordingsIn } from "./recorded-lines.ts";

const fixtures = new URL("../fixtures/opencode/", import.meta.url);

/** A recording as a whole session: its lines, and what the end of the program adds. */
function read(name: string): Promise<ReadRecording> {
  const stream = new RunStream();
  return readRecording(new URL(`${name}.jsonl`, fixtures), (line) => stream.read(line), () => stream.end());
}

function parse(...rows: unknown[]): AdapterEvent[] {
  const stream = new RunStream();
  return [...rows.flatMap((row) => stream.read(JSON.stringify(row))), ...stream.end()];
}

function part(type: string, fields: object): object {
  return { type, part: fields };
}

function stepFinish(reason: string): object {
  return part("step_finish", { reason });
}

function lines(...rows: unknown[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

test("every recording of OpenCode says each text once", async () => {
  const texts: Record<string, string> = {};
  for (const name of await recordingsIn(fixtures)) texts[name] = printed((await read(name)).events);
  expect(texts).toMatchInlineSnapshot(`
    {
      "400ctx": "",
      "401": "",
      "429": "",
      "429once": "done",
      "500": "",
      "ask-tool": "I will create the file.",
      "badtool": "Calling.
    done",
      "cut": "",
      "errevent": "",
      "failcmd": "Failing.
    done",
      "malformed": "",
      "ok": "done",
      "plan": "Planning.
    done",
      "resume1": "done",
      "resume2": "done",
      "shell": "I will run a command.
    done",
      "term-shell": "Running something long.",
      "thinking": "I will create the file.
    done",
      "tool": "I will create the file.
    done",
      "twotools": "Two calls.
    done",
    }
  `);
});

describe("the stream of OpenCode", () => {
  test("a session that thinks and calls a tool", async () => {
    expect((await read("thinking")).events).toMatchInlineSnapshot(`
      [
        {
          "agent_session_id": "ses_0001",
          "type": "agent_info",
        },
        {
          "content": "I should think about this for a moment.",
          "type": "thinking",
        },
        {
          "data": "I will create the file.",
          "stream": "stdout",
          "type": "output",
        },
        {
          "call_id": "call_0001",
          "input": {
            "content": "hi
      ",
            "filePath": "/work/hello.txt",
          },
          "kind": "edit",
          "tool": "write",
          "type": "tool_call",
        },
        {
          "call_id": "call_0001",
          "duration_ms": 19,
          "output": "Wrote file successfully.",
          "success": true,
          "tool": "write",
          "type": "tool_result",
        },
        {
          "action": "create",
          "path": "/work/hello.txt",
          "type": "file_change",
        },
        {
          "cost": null,
          "scope": "turn",
          "tokens_cached": 0,
          "tokens_in": 100,
          "tokens_out": 20,
          "type": "usage",
        },
        {
          "content": "I should think about this for a moment.",
          "type": "thinking",
        },
        {
          "data": "
      done",
          "stream": "stdout",
          "type": "output",
        },
        {
          "cost": null,
          "scope": "turn",
          "tokens_cached": 0,
          "tokens_in": 100,
          "tokens_out": 20,
          "type": "usage",
        },
        {
          "cost": null,
          "files_changed": [
            "/work/hello.txt",
          ],
          "output": "done",
          "success": true,
          "tokens_used": null,
          "type": "completed",
        },
      ]
    `);
  });

  test("a command that fails is a tool result without success, and the session goes on", async () => {
    const { events } = await read("failcmd");
    expect(events).toContainEqual({
      type: "tool_result",
      call_id: "call_0001",
      tool: "bash",
      output: { exit_code: 3, output: "oops\n" },
      success: false,
      duration_ms: 139,
    });
    expect(events.at(-1)).toMatchObject({ type: "completed", success: true, output: "done" });
  });

  test("a tool that nobody has is called by the name that the model used", async () => {
    const { events } = await read("badtool");
    expect(events.filter(({ type }) => type.startsWith("tool"))).toMatchObject([
      { type: "tool_call", tool: "no_such_tool", kind: "other" },
      { type: "tool_result", tool: "no_such_tool", success: false },
    ]);
  });

  test("a list of things to do is a plan; words of a status that it does not know are left out", async () => {
    const { events } = await read("plan");
    expect(events).toContainEqual({ type: "plan", entries: [{ content: "mock content", status: "pending" }] });
    const todos = [
      { content: "a", status: "completed", priority: "high" },
      { content: "b", status: "cancelled" },
      { status: "pending" },
    ];
    const use = { callID: "c", tool: "todowrite", state: { status: "completed", input: { todos }, output: "" } };
    expect(parse(part("tool_use", use))).toContainEqual({
      type: "plan",
      entries: [{ content: "a", status: "completed", priority: "high" }],
    });
  });

  test("a tool that nobody may permit ends the session as refused", async () => {
    const { events } = await read("ask-tool");
    expect(events.at(-1)).toMatchObject({ type: "error", code: "refused", recoverable: false });
    expect(events).toContainEqual(expect.objectContaining({ type: "tool_result", success: false }));
  });

  test.each([
    ["401", "unavailable", false],
    ["429", "rate_limit", true],
    ["500", "unavailable", true],
    ["400ctx", "context_overflow", false],
    ["malformed", "unavailable", true],
    ["cut", "unavailable", true],
    ["errevent", "unavailable", true],
  ])("recording %s fails with %s, once", async (name, code, recoverable) => {
    const { events } = await read(name);
    const errors = events.filter((event) => event.type === "error");
    expect(errors).toEqual([{ type: "error", code, message: expect.any(String), recoverable }]);
    expect(events.at(-1)).toBe(errors[0]);
  });

  test("a rate limit brings how long its server asks to wait", async () => {
    const { events } = await read("429");
    expect(events.at(-2)).toMatchObject({ type: "rate_limit", wait_ms: 2000 });
  });

  test("a recorded session that was ended from outside has no last word", async () => {
    expect((await read("term-shell")).events.at(-1)).toMatchObject({ type: "output" });
  });

  test("a step that does well after an error makes it one that passed", () => {
    const failed = { type: "error", error: { name: "APIError", data: { message: "HTTP 500", statusCode: 500 } } };
    expect(parse(failed, stepFinish("stop"))).toMatchObject([
      { type: "progress", message: "HTTP 500" },
      { type: "completed", success: true },
    ]);
    const other = { type: "error", error: { name: "APIError", data: { message: "HTTP 429", statusCode: 429 } } };
    expect(parse(failed, other)).toMatchObject([
      { type: "progress", message: "HTTP 500" },
      { type: "error", code: "rate_limit" },
    ]);
  });

  test.each([
    ["length", "output_limit"],
    ["content-filter", "refused"],
  ])("a last step that ends with %s is a failure", (reason, code) => {
    expect(parse(stepFinish(reason))).toMatchObject([{ type: "error", code }]);
  });

  test("usage counts what the cache gave and took, thoughts as output, and a cost of 0 as unknown", () => {
    const tokens = { input: 5, output: 3, reasoning: 2, cache: { read: 40, write: 10 } };
    expect(parse(part("step_finish", { reason: "tool-calls", tokens, cost: 0.5 }))).toEqual([
      { type: "usage", scope: "turn", tokens_in: 55, tokens_out: 5, tokens_cached: 40, cost: 0.5, currency: "USD" },
    ]);
    expect(parse(part("step_finish", { reason: "tool-calls", tokens: { input: 1 }, cost: 0 }))).toMatchObject([
      { type: "usage", tokens_in: 1, tokens_out: null, tokens_cached: null, cost: null },
    ]);
  });

  test("a file that is changed comes with its difference", () => {
    const state = { status: "completed", input: { filePath: "/work/a" }, output: "", metadata: { diff: "-a\n+b" } };
    expect(parse(part("tool_use", { callID: "c", tool: "edit", state }))).toContainEqual({
      type: "file_change",
      path: "/work/a",
      action: "modify",
      diff: "-a\n+b",
    });
  });

  test.each([
    [{ type: "step_paused", part: {} }],
    [{ type: "text" }],
    [{ type: "text", part: { text: 7 } }],
    [{ type: "reasoning", part: {} }],
    [{ type: "tool_use", part: { tool: "bash", state: { status: "completed" } } }],
    [{ type: "tool_use", part: { callID: "c", tool: "bash", state: { status: "running" } } }],
    [{ type: "step_finish", part: {} }],
    [{ type: "error" }],
    [{ type: "error", error: {} }],
    [["a", "list"]],
    [7],
  ])("what it does not know stays as it came: %j", (row) => {
    expect(parse(row)).toEqual([{ type: "unparsed", data: row }]);
  });

  test("a line that is not JSON is output, and a cut line of the protocol unparsed", () => {
    const stream = new RunStream();
    expect(stream.read("hello")).toEqual([{ type: "output", stream: "stdout", data: "hello\n" }]);
    expect(stream.read('{"type":"step')).toEqual([{ type: "unparsed", data: '{"type":"step' }]);
    expect(stream.read(" ")).toEqual([]);
  });
});

test.each([
  [{ name: "ProviderAuthError", data: { message: "no" } }, "unavailable"],
  [{ name: "MessageOutputLengthError", data: {} }, "output_limit"],
  [{ name: "APIError", data: { message: "no", statusCode: 403 } }, "unavailable"],
  [{ name: "UnknownError", data: { message: "Your request was flagged." } }, "refused"],
  [{ name: "UnknownError", data: { message: "something else" } }, "fatal"],
])("failureOf reads %j as %s", (error, code) => {
  expect(failureOf(error)).toMatchObject({ error: { type: "error", code }, waitMs: null });
});

describe("the adapter of OpenCode", () => {
  test("says that its figures are a part where it also asked for a title, or had a sub-agent", async () => {
    const step = part("step_finish", { reason: "stop", tokens: { input: 5, output: 2 } });
    const state = { status: "completed", input: {}, output: "ok" };
    const task = part("tool_use", { callID: "1", tool: "task", state });
    const parts = async (continue_from: string | undefined, ...rows: unknown[]) => {
      const process = { binary: "opencode", stdout: lines(...rows) };
      const { events } = await runAdapter(OpenCode, { prompt: "go", ...(continue_from ? { continue_from } : {}) }, {
        processes: [process],
      });
      return events.flatMap((event) => event.type === "usage" ? [event.partial] : []);
    };
    expect(await parts(undefined, step)).toEqual([true]);
    expect(await parts("ses_1", step)).toEqual([undefined]);
    expect(await parts("ses_1", step, task, step)).toEqual([undefined, true]);
  });

  test("gives the prompt on standard input, and model and session as arguments", async () => {
    const { calls, last } = await runAdapter(
      OpenCode,
      { prompt: "--help me", model: "anthropic/claude-sonnet-4-5", continue_from: "ses_1" },
      { processes: [{ binary: "opencode", stdout: lines(stepFinish("stop")) }] },
    );
    expect(last).toMatchObject({ type: "completed", success: true });
    expect(calls[0]).toMatchObject({
      args: ["run", "--format", "json", "--thinking", "-m", "anthropic/claude-sonnet-4-5", "-s", "ses_1"],
      options: { env: { OPENCODE_DISABLE_AUTOUPDATE: "1" }, stdin: "open" },
      stdin: "--help me",
      stdin_closed: true,
    });
  });

  test.each([
    [{ model: "--auto" }, "invalid_model"],
    [{ model: "no-provider" }, "invalid_model"],
    [{ continue_from: "--fork" }, "invalid_request"],
  ])("refuses %j", async (request, code) => {
    expect((await runAdapter(OpenCode, request)).error).toMatchObject({ code });
  });

  test("fails where it ends in the middle, whatever its exit", async () => {
    const silent = await runAdapter(OpenCode, {}, { processes: [{ stdout: lines(stepFinish("tool-calls")) }] });
    expect(silent.last).toMatchObject({ type: "error", code: "crash" });
  });

  test("knows whether it is there and offers a model", async () => {
    const version = { args: "--version", stdout: "1.18.33\n" };
    const report = async (models: object) =>
      (await probeAdapter(OpenCode, { processes: [version, { args: "models", ...models }] })).report;
    expect(await report({ stdout: "mock/mock-model\nopencode/big-pickle\n" })).toMatchObject({
      availability: "available",
      version: "1.18.33",
    });
    expect(await report({ stdout: "Database migration.\n" })).toMatchObject({
      availability: "unauthenticated",
      next_step: expect.stringContaining("opencode auth login"),
    });
    const broken = await probeAdapter(OpenCode, { processes: [{ args: "--version", exit_code: 1, stderr: "no" }] });
    expect(broken.report).toMatchObject({ availability: "unrunnable" });
  });
});
