import { runAdapter } from "bulkhead/plugin-sdk/testing";
import { expect, test } from "vitest";
import type { SessionRequest } from "../../plugin-sdk/request.ts";
import { ControlRequests } from "../../plugins/claude-code/control-requests.ts";
import ClaudeCode from "../../plugins/claude-code/mod.ts";
import { StreamParser } from "../../plugins/claude-code/stream-parser.ts";
import { toolsThatAsk } from "../../plugins/claude-code/asking.ts";
import { openingLines } from "../../plugins/claude-code/control-requests.ts";
import { GivenTerms } from "../../plugins/claude-code/turn-terms.ts";
import { toolsOption } from "../../plugins/claude-code/tool-names.ts";

const allowAlways = { id: "allow_always", label: "", kind: "allow_always" } as const;

function asks(tool_name: string, more: object = {}) {
  return { type: "control_request", request_id: "q", request: { subtype: "can_use_tool", tool_name, ...more } };
}

test("claude-code offers a lasting answer only where the agent suggests one, and gives the suggestion back", () => {
  const control = new ControlRequests();
  const permission_suggestions = [{ type: "setMode", mode: "acceptEdits" }];
  const [plain] = control.take(asks("Bash", { input: { command: "ls" } })) ?? [];
  expect(plain).toMatchObject({ options: [{ kind: "allow_once" }, { kind: "reject_once" }] });
  expect(control.permit("q", null)).toContain("deny");
  const [lasting] = control.take(asks("Write", { input: { a: 1 }, permission_suggestions })) ?? [];
  expect(lasting).toMatchObject({ options: [{}, {}, { kind: "allow_always" }] });
  expect(JSON.parse(control.permit("q", allowAlways) ?? "")).toEqual({
    type: "control_response",
    response: {
      subtype: "success",
      request_id: "q",
      response: { behavior: "allow", updatedInput: { a: 1 }, updatedPermissions: permission_suggestions },
    },
  });
  expect(control.permit("q", allowAlways)).toBe(null);
});

test("claude-code denies a request that no one answered", () => {
  const control = new ControlRequests();
  control.take(asks("Bash"));
  const denied = { response: { response: { behavior: "deny", message: "No one answered." } } };
  expect(JSON.parse(control.permit("q", null) ?? "")).toMatchObject(denied);
  control.take(asks("AskUserQuestion", { input: { questions: [{ question: "a?" }, { question: "b?" }] } }));
  expect(control.reply("q.0", "yes")).toBe(null);
  expect(JSON.parse(control.reply("q.1", null) ?? "")).toMatchObject(denied);
});

test("claude-code takes a request back with the agent, and an answer to it writes nothing, whatever its id is used for", () => {
  const parser = new StreamParser();
  const parse = (message: object) => parser.parse(JSON.stringify(message));
  const cancel = { type: "control_cancel_request", request_id: "q" };
  expect(parse(cancel)).toEqual([]);
  parse(asks("Bash"));
  const open = parser.control.opened("q");
  expect(parse(cancel)).toEqual([{ type: "request_withdrawn", request_id: "q" }]);
  expect(parse(asks("Bash"))).toMatchObject([{ type: "permission_request", request_id: "q" }]);
  expect(parser.control.permit("q", allowAlways, open)).toBe(null);
  expect(parser.control.permit("q", allowAlways)).toContain('"allow"');
  const questions = { tool_use_id: "t", input: { questions: [{ question: "a?" }, { question: "b?" }] } };
  expect(parse(asks("AskUserQuestion", questions))).toMatchObject([{ request_id: "q.0", call_id: "t" }, {}]);
  expect(parse(cancel).map((event) => "request_id" in event && event.request_id)).toEqual(["q.0", "q.1"]);
});

test("claude-code denies both of two requests that are open under one id", () => {
  const control = new ControlRequests();
  control.take(asks("Bash"));
  expect(control.take(asks("Write"))).toEqual([
    { type: "request_withdrawn", request_id: "q" },
    { type: "unparsed", data: asks("Write") },
  ]);
  expect(control.refusals().map((line) => JSON.parse(line).response.response.behavior)).toEqual(["deny", "deny"]);
  expect(control.permit("q", allowAlways)).toBe(null);
});

test("claude-code answers several questions of one request together", () => {
  const control = new ControlRequests();
  control.take(asks("AskUserQuestion", { input: { questions: [{ question: "a?" }, { question: "b?" }] } }));
  expect(control.reply("q.1", "B")).toBe(null);
  expect(JSON.parse(control.reply("q.0", "A") ?? "")).toMatchObject({
    response: { response: { behavior: "allow", updatedInput: { answers: { "a?": "A", "b?": "B" } } } },
  });
});

test("claude-code refuses requests that it does not know, because the agent would wait for ever", async () => {
  const odd = { type: "control_request", request_id: "odd", request: { subtype: "hook_callback" } };
  const done = { type: "result", subtype: "success", is_error: false, result: "ok" };
  const run = await runAdapter(ClaudeCode, { prompt: "--go" }, {
    processes: [{ binary: "claude", stdout: [odd, done].map((line) => `${JSON.stringify(line)}\n`) }],
  });
  expect(run).toMatchObject({ error: null, violations: [], last: { type: "completed", output: "ok" } });
  expect(run.events).toContainEqual({ type: "unparsed", data: odd });
  const [started] = run.calls;
  const written = started?.call === "run" ? started.stdin.trim().split("\n").map((line) => JSON.parse(line)) : [];
  expect(written.slice(0, 2)).toMatchObject([
    { request: { subtype: "initialize" } },
    { type: "user", message: { content: [{ type: "text", text: "--go" }] } },
  ]);
  expect(written[2]).toMatchObject({ response: { subtype: "error", request_id: "odd" } });
  // The prompt, which looks like an option, is on standard input alone, which ends once the result is there.
  expect(started).toMatchObject({ stdin_closed: true, args: expect.not.arrayContaining(["--go"]) });
});

test.each([
  [undefined, "default"],
  [["*"], "default"],
  [[], ""],
  [["Read", "Bash", "Read"], "Read,Bash"],
  [["Web*"], "WebFetch,WebSearch"],
  [["mcp__server__tool", "Edit"], "Edit"],
])("claude-code leaves the tools of %j: %s", (allowed, option) => {
  expect(toolsOption(allowed)).toBe(option);
});

const writers = ["Edit", "MultiEdit", "Write", "NotebookEdit", "Bash", "KillShell", "Monitor"];

test.each(
  [
    [{}, []],
    [{ approval: "all" }, []],
    [{ approval: "ask" }, writers],
    [{ approval: "reads" }, writers],
    [{ approval: "deny" }, writers],
    [{ allowed_tools: ["Bash"] }, writers],
    [{ tool_approvals: { "*": "deny" } }, writers],
    [{ tool_approvals: { "*": "allow" } }, []],
    [{ tool_approvals: { Read: "ask", Bash: "allow" } }, ["Read"]],
    [{ approval: "edits", tool_approvals: { mcp__a__b: "deny" } }, [...writers, "mcp__a__b"]],
  ] as const,
)("claude-code makes tools ask for %j", (asked, tools) => {
  expect(toolsThatAsk({ workdir: "/w", prompt: "", ...asked } as SessionRequest)).toEqual(tools);
});

test("claude-code tells the agent which tools ask before it gives the prompt", () => {
  const lines = (ask: string[]) =>
    openingLines({ ask, system: null }).trim().split("\n").map((line) => JSON.parse(line));
  expect(lines([]).map(({ type }) => type)).toEqual(["control_request"]);
  expect(lines(["Bash"])[1]).toMatchObject({
    request: { subtype: "apply_flag_settings", settings: { permissions: { ask: ["Bash"] } } },
  });
});

test("claude-code gives the project's instructions with the request's system prompt, unless the agent reads them", async () => {
  const run = async (params: Record<string, unknown>) => {
    const { calls, events } = await runAdapter(ClaudeCode, { prompt: "go", system_prompt: "SYSTEM", params }, {
      config: { project_memory: { text: "MEMORY", left_out: ["@../a.md"] } },
      processes: [{
        binary: "claude",
        stdout: [`${JSON.stringify({ type: "result", subtype: "success", result: "ok" })}\n`],
      }],
    });
    const greeting = calls[0]?.call === "run" ? JSON.parse(calls[0].stdin.split("\n")[0] ?? "") : null;
    return { system: greeting.request.appendSystemPrompt, events };
  };
  const { system, events } = await run({});
  expect(system).toMatch(/MEMORY\n\nSYSTEM$/);
  expect(events).toContainEqual({ type: "progress", message: expect.stringContaining("@../a.md") });
  expect((await run({ setting_sources: "user,project" })).system).toBeUndefined();
});

test("claude-code stays with a plan that alone is wanted, and gives it up when work is", () => {
  const terms = new GivenTerms();
  const control = new ControlRequests(() => terms.plans);
  const settings = (text: string) => text.split("\n").slice(0, -1).map((line) => JSON.parse(line).request);
  expect(settings(terms.lines({ effort: "minimal", plan: true }))).toEqual([
    { subtype: "apply_flag_settings", settings: { effortLevel: "low" } },
    { subtype: "set_permission_mode", mode: "plan" },
  ]);
  expect(terms.lines({ effort: "low", plan: true })).toBe("");
  expect(control.take(asks("ExitPlanMode"))).toEqual([]);
  expect(JSON.parse(control.refusals()[0] ?? "").response.response.behavior).toBe("deny");
  expect(settings(terms.lines({}))).toEqual([{ subtype: "set_permission_mode", mode: "default" }]);
  expect(control.take(asks("ExitPlanMode"))).toMatchObject([{ type: "permission_request" }]);
});
