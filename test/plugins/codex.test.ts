import { describe, expect, test } from "vitest";
import { probeAdapter, runAdapter } from "bulkhead/plugin-sdk/testing";
import { ExecStream } from "../../plugins/codex/exec-stream.ts";
import { failureOf } from "../../plugins/codex/failures.ts";
import Codex from "../../plugins/codex/mod.ts";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";
import { printed, readRecording, recordingsIn } from "./recorded-lines.ts";

const fixtures = new URL("../fixtures/codex/", import.meta.url);

function read(name: string): ReturnType<typeof readRecording> {
  const stream = new ExecStream();
  return readRecording(new URL(`${name}.jsonl`, fixtures), (line) => stream.read(line));
}

function lines(...rows: unknown[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

function item(of: object, when = "completed"): unknown {
  return { type: `item.${when}`, item: { id: "item_1", ...of } };
}

function parse(...rows: unknown[]): AdapterEvent[] {
  const stream = new ExecStream();
  return rows.flatMap((row) => stream.read(JSON.stringify(row)));
}

test("every recording of Codex says each text once", async () => {
  const texts: Record<string, string> = {};
  for (const name of await recordingsIn(fixtures)) texts[name] = printed((await read(name)).events);
  expect(texts).toMatchInlineSnapshot(`
    {
      "400ctx": "",
      "401": "",
      "429": "",
      "429once": "done",
      "429sub": "",
      "500": "",
      "badtool": "Calling.
    done",
      "cut": "",
      "errevent": "",
      "gpt5-failcmd": "Failing.
    done",
      "gpt5-ok": "done",
      "gpt5-patch": "Patching.
    done",
      "gpt5-plan": "Planning.",
      "gpt5-tool": "I will create the file.
    done",
      "malformed": "",
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

describe("the stream of Codex", () => {
  test("a session that calls a tool: its text once, its thoughts, its usage and its answer", async () => {
    const { events } = await read("tool");
    expect(printed(events)).toBe("I will create the file.\ndone");
    expect(events).toMatchInlineSnapshot(`
      [
        {
          "agent_session_id": "00000000-0000-4000-8000-000000000001",
          "type": "agent_info",
        },
        {
          "message": "Model metadata for \`mock-model\` not found. Defaulting to fallback metadata; this can degrade performance and cause issues.",
          "type": "progress",
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
          "call_id": "item_3",
          "input": {
            "command": "/bin/bash -lc 'echo hi > hello.txt'",
          },
          "kind": "execute",
          "tool": "shell",
          "type": "tool_call",
        },
        {
          "call_id": "item_3",
          "duration_ms": null,
          "output": {
            "exit_code": 0,
            "output": "",
          },
          "success": true,
          "tool": "shell",
          "type": "tool_result",
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
          "scope": "session",
          "tokens_cached": 0,
          "tokens_in": 200,
          "tokens_out": 40,
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

  test("a patch is a tool call, and then the files it changed", async () => {
    const { events } = await read("gpt5-patch");
    expect(events.filter(({ type }) => type.startsWith("tool") || type === "file_change")).toEqual([
      {
        type: "tool_call",
        call_id: "item_2",
        tool: "apply_patch",
        kind: "edit",
        input: { changes: [{ path: "/work/hello.txt", kind: "add" }] },
      },
      { type: "tool_result", call_id: "item_2", tool: "apply_patch", output: null, success: true, duration_ms: null },
      { type: "file_change", path: "/work/hello.txt", action: "create" },
    ]);
    expect(events.at(-1)).toMatchObject({ type: "completed", files_changed: ["/work/hello.txt"] });
  });

  test("a command that fails is a tool result without success, and the session goes on", async () => {
    const { events } = await read("gpt5-failcmd");
    expect(events).toContainEqual({
      type: "tool_result",
      call_id: "item_2",
      tool: "shell",
      output: { exit_code: 3, output: "oops\n" },
      success: false,
      duration_ms: null,
    });
    expect(events.at(-1)).toMatchObject({ type: "completed", success: true });
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
    const { events } = await read(name);
    const errors = events.filter((event) => event.type === "error");
    expect(errors).toEqual([{ type: "error", code, message: expect.any(String), recoverable }]);
    expect(events.at(-1)).toBe(errors[0]);
    const said = errors[0]?.message;
    expect(events.filter((event) => event.type === "progress" && event.message === said)).toEqual([]);
  });

  test("a recorded session that was ended from outside has no last word", async () => {
    const { events } = await read("term-shell");
    expect(events.at(-1)).toMatchObject({ type: "tool_call", tool: "shell", kind: "execute" });
  });

  test("a thread that goes on has no usage of its own: the figures count its turns before too", async () => {
    const stream = new ExecStream({ resumed: true, model: "gpt-5.5" });
    const { events } = await readRecording(new URL("resume2.jsonl", fixtures), (line) => stream.read(line));
    expect(events.find(({ type }) => type === "usage")).toEqual({
      type: "usage",
      scope: "session",
      tokens_in: null,
      tokens_out: null,
      tokens_cached: null,
      cost: null,
      model: "gpt-5.5",
    });
  });

  test("texts that grow are given by what is new in them", () => {
    const events = parse(
      item({ type: "agent_message", text: "Hel" }, "started"),
      item({ type: "agent_message", text: "Hello" }, "updated"),
      item({ type: "agent_message", text: "Hello" }),
      item({ type: "reasoning", text: "Hm" }, "updated"),
      item({ type: "reasoning", text: "Hm." }),
    );
    expect(printed(events)).toBe("Hello");
    expect(events.flatMap((event) => (event.type === "thinking" ? event.content : []))).toEqual(["Hm", "."]);
  });

  test("a list of things to do is a plan, given when it changes", () => {
    const todo = (completed: boolean) => ({ type: "todo_list", items: [{ text: "a", completed }] });
    expect(parse(item(todo(false), "started"), item(todo(true), "updated"), item(todo(true)))).toEqual([
      { type: "plan", entries: [{ content: "a", status: "pending" }] },
      { type: "plan", entries: [{ content: "a", status: "completed" }] },
    ]);
  });

  test.each([
    [
      { type: "mcp_tool_call", server: "s", tool: "t", arguments: { a: 1 }, result: { content: [] }, error: null },
      "s.t",
    ],
    [{ type: "web_search", query: "q", action: { type: "search" } }, "web_search"],
    [{ type: "collab_tool_call", tool: "spawn_agent", prompt: "p", receiver_thread_ids: [] }, "spawn_agent"],
  ])("an item that comes only when it is done is a whole call: %j", (of, tool) => {
    expect(parse(item({ ...of, status: "completed" }))).toMatchObject([
      { type: "tool_call", call_id: "item_1", tool },
      { type: "tool_result", call_id: "item_1", tool, success: true },
    ]);
    expect(parse(item({ ...of, status: "failed" })).at(-1)).toMatchObject({ type: "tool_result", success: false });
  });

  test.each([
    [{ type: "turn.paused" }],
    [{ type: "item.completed", item: { id: "x", type: "hologram" } }],
    [{ type: "item.completed", item: { type: "agent_message", text: "no id" } }],
    [{ type: "item.completed" }],
    [{ type: "thread.started" }],
    [{ type: "error" }],
    [["a", "list"]],
    [7],
  ])("what it does not know stays as it came: %j", (row) => {
    expect(parse(row)).toEqual([{ type: "unparsed", data: row }]);
  });

  test("a line that is not JSON is output, and a cut line of the protocol unparsed", () => {
    const stream = new ExecStream();
    expect(stream.read("hello")).toEqual([{ type: "output", stream: "stdout", data: "hello\n" }]);
    expect(stream.read('{"type":"turn')).toEqual([{ type: "unparsed", data: '{"type":"turn' }]);
    expect(stream.read(" ")).toEqual([]);
  });
});

test.each([
  ["Your request was flagged as potentially violating our usage policy.", "refused"],
  ["unexpected status 403 Forbidden: no", "unavailable"],
  ["Selected model is at capacity. Please try a different model.", "unavailable"],
  ["something else", "fatal"],
])("failureOf reads %j as %s", (message, code) => {
  expect(failureOf(message)).toMatchObject({ type: "error", code, message });
});

describe("the adapter of Codex", () => {
  const done = lines({ type: "turn.completed", usage: { input_tokens: 3, cached_input_tokens: 1, output_tokens: 2 } });
  const subscription = { type: "subscription", plan: "p", rate_limits: {}, enabled: true } as const;

  test("gives the prompt on standard input, and model and thread as arguments", async () => {
    const { calls, last } = await runAdapter(
      Codex,
      { prompt: "--help me", model: "gpt-5.5", continue_from: "01a2", params: { sandbox: "read-only" } },
      { processes: [{ binary: "codex", stdout: done }], config: { access_modes: [subscription] } },
    );
    expect(last).toMatchObject({ type: "completed", success: true });
    expect(calls[0]).toMatchObject({
      args: [
        ...["exec", "--json", "--skip-git-repo-check", "--sandbox", "read-only"],
        ...["-m", "gpt-5.5", "resume", "01a2", "-"],
      ],
      options: { env: { CODEX_API_KEY: "" }, stdin: "open" },
      stdin: "--help me",
      stdin_closed: true,
    });
  });

  test("leaves the model to the user's settings in every mode, and in an API mode the key alone", async () => {
    const api = {
      type: "api",
      model: "gpt-5.5",
      pricing: { input_per_1k_tokens: 0, output_per_1k_tokens: 0, currency: "USD" },
      max_tokens: 1,
      enabled: true,
    } as const;
    const { calls } = await runAdapter(Codex, {}, {
      processes: [{ stdout: done }],
      config: { access_modes: [api] },
    });
    expect((calls[0] as { args: string[] }).args).not.toContain("-m");
    expect(calls[0]).not.toHaveProperty("options.env");
  });

  test.each([
    [{ params: { sandbox: "danger-full-access" } }, "invalid_request"],
    [{ model: "-c" }, "invalid_model"],
    [{ continue_from: "--last" }, "invalid_request"],
  ])("refuses %j", async (request, code) => {
    expect((await runAdapter(Codex, request)).error).toMatchObject({ code });
  });

  test("fails with an error that no failed turn followed, and where nothing was said at the end", async () => {
    const told = await runAdapter(Codex, {}, {
      processes: [{ stdout: lines({ type: "error", message: "HTTP 429" }), exit_code: 1 }],
    });
    expect(told.events).toMatchObject([{ type: "rate_limit" }, { type: "error", code: "rate_limit" }]);
    const silent = await runAdapter(Codex, {}, { processes: [{ stdout: lines({ type: "turn.started" }) }] });
    expect(silent.last).toMatchObject({ type: "error", code: "crash" });
  });

  test("reads the time that a plan's limit names", async () => {
    const message = "You’ve hit your usage limit. Upgrade to Pro or try again at Nov 22nd, 2099 12:29 AM.";
    const { events } = await runAdapter(Codex, {}, {
      processes: [{ stdout: lines({ type: "turn.failed", error: { message } }), exit_code: 1 }],
    });
    expect(events[0]).toMatchObject({ type: "rate_limit", message, wait_ms: expect.any(Number) });
    expect(events[1]).toMatchObject({ type: "error", code: "rate_limit", recoverable: true });
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
