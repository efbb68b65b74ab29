import { probeAdapter, runAdapter } from "bulkhead/plugin-sdk/testing";
import { describe, expect, test } from "vitest";
import { failureOf, meaningOfCode } from "../../plugins/gemini-cli/failures.ts";
import { HeadlessStream } from "../../plugins/gemini-cli/headless-stream.ts";
import GeminiCli from "../../plugins/gemini-cli/mod.ts";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";
import { printed, readRecording, recordingsIn } from "./recorded-lines.ts";

const fixtures = new URL("../fixtures/gemini-cli/", import.meta.url);

function read(name: string): ReturnType<typeof readRecording> {
  const stream = new HeadlessStream();
  return readRecording(new URL(`${name}.jsonl`, fixtures), (line) => stream.read(line));
}

function parse(...rows: unknown[]): AdapterEvent[] {
  const stream = new HeadlessStream();
  return rows.flatMap((row) => stream.read(JSON.stringify(row)));
}

function lines(...rows: unknown[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

function says(content: string, delta = true): unknown {
  return { type: "message", role: "assistant", content, delta };
}

function use(tool: string, parameters: object = {}): unknown {
  return { type: "tool_use", tool_name: tool, tool_id: "t1", parameters };
}

const worked = { type: "tool_result", tool_id: "t1", status: "success", output: "ok" };
const ended = { type: "result", status: "success", stats: { total_tokens: 7, input_tokens: 4, output_tokens: 2 } };

test("every recording of Gemini CLI says each text once", async () => {
  // In errevent the CLI asked its model four times over, and each answer began so.
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
      "cut": "partial",
      "errevent": "partialpartialpartialpartial",
      "failcmd": "Failing.
    done",
      "gterm-shell": "Running something long.",
      "malformed": "partial",
      "ok": "done",
      "plan": "Planning.
    done",
      "resume1": "done",
      "resume2": "done",
      "shell": "I will run a command.
    done",
      "tool": "I will create the file.
    done",
      "twotools": "Two calls.
    done",
      "untrusted-tool": "",
    }
  `);
});

describe("the stream of Gemini CLI", () => {
  test("a session that calls a tool: its text once, its usage, its file and its answer", async () => {
    const { events } = await read("tool");
    expect(printed(events)).toBe("I will create the file.\ndone");
    expect(events).toMatchInlineSnapshot(`
      [
        {
          "agent_session_id": "00000000-0000-4000-8000-000000000001",
          "model": "gemini-2.5-pro",
          "type": "agent_info",
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
          "call_id": "write_file__8j7vhydgul",
          "input": {
            "content": "hi
      ",
            "file_path": "/work/hello.txt",
          },
          "kind": "edit",
          "tool": "write_file",
          "type": "tool_call",
        },
        {
          "call_id": "write_file__8j7vhydgul",
          "duration_ms": null,
          "output": null,
          "success": true,
          "tool": "write_file",
          "type": "tool_result",
        },
        {
          "action": "modify",
          "path": "/work/hello.txt",
          "type": "file_change",
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
          "model": "gemini-2.5-pro",
          "scope": "session",
          "tokens_cached": 0,
          "tokens_in": 200,
          "tokens_out": 50,
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
    expect(events.some(({ type }) => type === "usage")).toBe(name === "errevent");
  });

  test("a tool that is not there is a result without success, with its reason", async () => {
    const { events } = await read("badtool");
    expect(events.find(({ type }) => type === "tool_result")).toMatchObject({
      tool: "no_such_tool",
      success: false,
      output: expect.stringContaining("not found"),
    });
    expect(events.at(-1)).toMatchObject({ type: "completed", success: true, output: "done" });
  });

  test("a recorded session that was ended from outside has no last word", async () => {
    const { events } = await read("gterm-shell");
    expect(events.at(-1)).toMatchObject({ type: "tool_call", tool: "run_shell_command", kind: "execute" });
  });

  test("a list of things to do is a plan, without what was given up", () => {
    const todos = [
      { description: "a", status: "completed" },
      { description: "b", status: "in_progress" },
      { description: "c", status: "cancelled" },
      { description: "d", status: "pending" },
    ];
    expect(parse(use("write_todos", { todos }), worked).at(-1)).toEqual({
      type: "plan",
      entries: [
        { content: "a", status: "completed" },
        { content: "b", status: "in_progress" },
        { content: "d", status: "pending" },
      ],
    });
  });

  test("only a tool that did its work changed a file", () => {
    const failed = { type: "tool_result", tool_id: "t1", status: "error", error: { type: "x", message: "no" } };
    expect(parse(use("replace", { file_path: "a.txt" }), failed)).toMatchObject([
      { type: "tool_call", kind: "edit" },
      { type: "tool_result", success: false, output: "no" },
    ]);
    expect(parse(use("read_file", { file_path: "a.txt" }), worked).map(({ type }) => type)).toEqual([
      "tool_call",
      "tool_result",
    ]);
  });

  test("a whole message after its parts gives what is new in it", () => {
    expect(printed(parse(says("Hel"), says("lo"), says("Hello!", false)))).toBe("Hello!");
    expect(printed(parse(says("One.\n"), use("glob"), worked, says("Two")))).toBe("One.\nTwo");
  });

  test("an error that a good result follows was none, and a warning is progress", () => {
    const events = parse(
      { type: "error", severity: "warning", message: "w" },
      { type: "error", severity: "error", message: "e" },
      ended,
    );
    expect(events).toMatchObject([
      { type: "progress", message: "w" },
      { type: "progress", message: "e" },
      { type: "usage", tokens_in: 4, tokens_out: 3, tokens_cached: null },
      { type: "completed", success: true },
    ]);
  });

  test.each([
    [{ type: "thought", content: "hm" }],
    [{ type: "init" }],
    [{ type: "message", role: "system", content: "x" }],
    [{ type: "tool_use", tool_name: "x" }],
    [{ type: "tool_result", tool_id: "never called", status: "success" }],
    [{ type: "error" }],
    [{ type: "result", status: "paused" }],
    [[]],
    [null],
  ])("what it does not know stays as it came: %j", (row) => {
    expect(parse(row)).toEqual([{ type: "unparsed", data: row }]);
  });

  test("a line that is not JSON is output, and a cut line of the protocol unparsed", () => {
    const stream = new HeadlessStream();
    expect(stream.read("hello")).toEqual([{ type: "output", stream: "stdout", data: "hello\n" }]);
    expect(stream.read('{"type":"mess')).toEqual([{ type: "unparsed", data: '{"type":"mess' }]);
  });
});

test.each([
  ["Candidate was blocked due to SAFETY", "refused"],
  ['{"code":403,"status":"PERMISSION_DENIED"}', "unavailable"],
  ['{"code":503,"message":"The model is overloaded."}', "unavailable"],
  ["something else", "fatal"],
])("failureOf reads %j as %s", (message, code) => {
  expect(failureOf(message)).toMatchObject({ type: "error", code, message });
});

test("an exit code is the HTTP status modulo 256, or one of the CLI's own", () => {
  expect([0, 144, 145, 147, 173, 244, 41, 55, 1, null].map(meaningOfCode)).toEqual([
    ...["completed", "fatal", "unavailable", "unavailable", "rate_limit", "unavailable", "unavailable"],
    ...["fatal", "fatal", "fatal"],
  ]);
});

describe("the adapter of Gemini CLI", () => {
  test("gives the prompt on standard input, and model and session as arguments", async () => {
    const { calls, last } = await runAdapter(
      GeminiCli,
      { prompt: "--yes @me", model: "gemini-2.5-flash", continue_from: "be8c" },
      { processes: [{ binary: "gemini", stdout: lines(ended) }] },
    );
    expect(last).toMatchObject({ type: "completed", success: true });
    expect(calls[0]).toMatchObject({
      args: [
        ...["--output-format", "stream-json", "--yolo", "--skip-trust"],
        ...["-m", "gemini-2.5-flash", "--resume", "be8c"],
      ],
      stdin: "--yes @me",
      stdin_closed: true,
    });
  });

  test.each([
    [{ model: "--yolo" }, "invalid_model"],
    [{ continue_from: "-x" }, "invalid_request"],
  ])("refuses %j", async (request, code) => {
    expect((await runAdapter(GeminiCli, request)).error).toMatchObject({ code });
  });

  test("without a result the exit code tells, and 0 tells nothing", async () => {
    const codeOf = async (exit_code: number, stderr = "") =>
      (await runAdapter(GeminiCli, {}, { processes: [{ stderr, exit_code }] })).last;
    expect(await codeOf(173)).toMatchObject({ type: "error", code: "rate_limit", recoverable: true });
    expect(await codeOf(145)).toMatchObject({ type: "error", code: "unavailable" });
    expect(await codeOf(55, "not running in a trusted directory")).toMatchObject({ code: "fatal" });
    expect(await codeOf(0)).toMatchObject({ type: "error", code: "crash" });
    expect(await codeOf(1, "You have exhausted your daily quota on this model.")).toMatchObject({ code: "rate_limit" });
  });

  test("drops what it prints in each session, and an exit code tells the line with the cause", async () => {
    const yolo = "YOLO mode is enabled. All tool calls will be automatically approved.\n";
    const terminal = "Warning: 256-color support not detected. Using a terminal with more colors is recommended.\n";
    const startup = "[STARTUP] Phase 'cli_startup' was started but never ended. Skipping metrics.\n";
    const cause = "Please set an Auth method in your settings.json";
    const { events } = await runAdapter(GeminiCli, {}, {
      processes: [{ stderr: `${terminal}${yolo}${yolo}${startup}${cause}\n`, exit_code: 41 }],
    });
    expect(events).toEqual([
      { type: "output", stream: "stderr", data: `${cause}\n` },
      { type: "error", code: "unavailable", message: `The program exited with code 41: ${cause}`, recoverable: true },
    ]);
  });

  test("fails with an error that no result followed", async () => {
    const { events } = await runAdapter(GeminiCli, {}, {
      processes: [{ stdout: lines({ type: "error", severity: "error", message: "socket hang up" }) }],
    });
    expect(events).toMatchObject([{ type: "error", code: "unavailable", message: "socket hang up" }]);
  });

  test("knows whether it is there, and says that it cannot know more", async () => {
    const { report } = await probeAdapter(GeminiCli, { processes: [{ args: "--version", stdout: "0.61.0\n" }] });
    expect(report).toMatchObject({
      availability: "available",
      version: "0.61.0",
      reason: expect.stringContaining("cannot be asked"),
    });
    const broken = await probeAdapter(GeminiCli, { processes: [{ args: "--version", exit_code: 1, stderr: "no" }] });
    expect(broken.report).toMatchObject({ availability: "unrunnable" });
  });
});
