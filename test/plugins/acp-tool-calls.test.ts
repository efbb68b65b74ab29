import { describe, expect, test } from "vitest";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";
import type { JsonFields } from "../../plugin-sdk/json-fields.ts";
import { type FindOutcome, ToolCalls, toolOf } from "../../plugins/acp/tool-calls.ts";

/** Takes updates of the call "1", one after the other, and returns their events. */
function events(updates: JsonFields[], findOutcome: FindOutcome = () => undefined): AdapterEvent[] {
  const calls = new ToolCalls(findOutcome);
  return updates.flatMap((update) => calls.take({ toolCallId: "1", ...update }, {}) ?? []);
}

/** Tells of the call "1", asks for permission, and returns what the request shows. */
function asked(told: JsonFields[], request: JsonFields, habits = {}): unknown {
  const calls = new ToolCalls(() => undefined);
  for (const update of [...told, request]) calls.take({ toolCallId: "1", ...update }, habits);
  return calls.asked({ toolCallId: "1", ...request });
}

const text = (text: string): JsonFields => ({ type: "content", content: { type: "text", text } });
const diff = { type: "diff", path: "/work/a.txt", oldText: "a", newText: "b" };

test("one is held until it is known what for, and told once", () => {
  const calls = new ToolCalls(() => undefined);
  expect(calls.take({ toolCallId: "1", name: "Write", status: "pending", rawInput: {} }, {})).toEqual([]);
  expect(calls.take({ toolCallId: "1", rawInput: { path: "a" }, content: [] }, {})).toEqual([]);
  const call = { type: "tool_call", call_id: "1", tool: "Write", kind: "other", input: { path: "a" } };
  expect(calls.open("1")).toEqual([call]);
  expect(calls.openAll()).toEqual([]);
  const content = [{ type: "content", content: { type: "text", text: "x" } }, { type: "terminal", terminalId: "t" }];
  expect(calls.take({ toolCallId: "1", status: "failed", content }, {})).toEqual([
    { type: "tool_result", call_id: "1", tool: "Write", output: content, success: false, duration_ms: null },
  ]);
  expect(calls.take({ toolCallId: "1", _meta: {} }, {})).toEqual([]);
  expect(calls.take({ toolCallId: "1", status: "completed" }, {})).toBe(null);
  expect(calls.take({}, {})).toBe(null);
});

test.each([
  [{ oldText: null }, "create"],
  [{ oldText: "" }, "modify"],
  [{ oldText: "", _meta: { kind: "add" } }, "create"],
  [{ oldText: "a", _meta: { kind: "delete" } }, "delete"],
])("a difference %j is a claim: %s", (diff, action) => {
  const content = [{ type: "diff", path: "/a", newText: "", ...diff }];
  expect(events([{ status: "completed", content }])).toContainEqual({
    type: "file_change",
    path: "/a",
    action,
  });
});

test.each<[string, JsonFields, string[]]>([
  ["an edit", { kind: "edit" }, ["modify /a", "modify /b"]],
  ["an edit of a file that was not there", { kind: "edit", rawOutput: { metadata: { exists: false } } }, [
    "create /a",
    "create /b",
  ]],
  ["a deletion", { kind: "delete" }, ["delete /a", "delete /b"]],
  ["a look", { kind: "read" }, []],
  ["an edit that failed", { kind: "edit", status: "failed" }, []],
])("%s without differences claims the files that it was about", (_name, update, claimed) => {
  const locations = [{ path: "/a" }, { path: "/b", line: 3 }];
  const told = events([{ status: "completed", content: [text("Wrote it.")], locations, ...update }]);
  expect(told.flatMap((event) => event.type === "file_change" ? `${event.action} ${event.path}` : [])).toEqual(claimed);
});

test.each([
  [{ name: "Bash" }, "Bash"],
  [{ _meta: { claudeCode: { toolName: "Write" } } }, "Write"],
  [{ toolCallId: "run_shell_command__v13ax5wpmb", kind: "execute" }, "run_shell_command"],
  [{ toolCallId: "mcp__server__tool__abcdef12" }, "mcp__server__tool"],
  [{ toolCallId: "toolu_123", kind: "execute" }, "execute"],
  [{ toolCallId: "call__1" }, "other"],
])("the tool of %j is %s", (call, tool) => {
  expect(toolOf(call)).toBe(tool);
});

describe("a call that runs before its input is known", () => {
  test("waits for it", () => {
    const calls = new ToolCalls(() => undefined);
    expect(calls.take({ toolCallId: "1", title: "Bash", status: "in_progress", rawInput: {} }, {})).toEqual([]);
    expect(calls.waiting()).toEqual(["1"]);
    expect(calls.waiting()).toEqual([]);
    expect(calls.take({ toolCallId: "1", rawInput: { command: "ls" } }, {})).toMatchObject([
      { type: "tool_call", input: { command: "ls" } },
    ]);
    expect(calls.open("1")).toEqual([]);
  });

  test.each<[string, JsonFields]>([
    ["ends", { status: "completed" }],
    ["shows what it will change", { content: [diff] }],
  ])("is told of when it %s", (_when, update) => {
    expect(events([{ title: "Edit", status: "in_progress" }, update])[0]).toMatchObject({
      type: "tool_call",
      input: { title: "Edit" },
    });
  });

  test("has its arguments in its text where the agent writes them there, once they are whole", () => {
    const calls = new ToolCalls(() => undefined);
    const take = (written: string, habits = {}): AdapterEvent[] | null =>
      calls.take({ toolCallId: "1", status: "in_progress", content: [text(written)] }, habits);
    const habits = { arguments_in_text: true } as const;
    expect(take('{"command":"ls')).toEqual([]);
    expect(take('{"command":"ls"}')).toEqual([]);
    expect(take('{"command":"ls', habits)).toEqual([]);
    expect(take('{"command":"ls"}', habits)).toMatchObject([{ input: { command: "ls" } }]);
  });
});

describe("a call that turns out to be other work than was told", () => {
  const begun = { status: "in_progress", title: "Look", kind: "read", rawInput: { path: "a" } };
  const command = { kind: "execute", title: "rm x", rawInput: { command: "rm x" } };
  const other = { type: "tool_call", call_id: "1~1", kind: "execute", input: { command: "rm x" } };

  test("is another call, with a result of its own", () => {
    const told = events([begun, command, { status: "completed", content: [text("ok")] }]);
    expect(told).toMatchObject([
      { type: "tool_call", call_id: "1", kind: "read" },
      other,
      { type: "tool_result", call_id: "1", tool: "read", output: null, success: true },
      { type: "tool_result", call_id: "1~1", tool: "execute", output: "ok", success: true },
    ]);
  });

  test("is one as well when that comes with its end, and a request for permission is about the newer one", () => {
    expect(events([begun, { ...command, status: "completed" }]).map(({ type }) => type)).toEqual([
      "tool_call",
      "tool_call",
      "tool_result",
      "tool_result",
    ]);
    expect(asked([begun], command)).toMatchObject({ kind: "execute", call_id: "1~1" });
  });

  test("is the same one where it is no heavier, and an input that came late is told", () => {
    const late = (update: JsonFields) => {
      const calls = new ToolCalls(() => undefined);
      calls.take({ toolCallId: "1", status: "in_progress", kind: "fetch", title: "Fetch" }, {});
      return [...calls.open("1"), ...calls.take({ toolCallId: "1", ...update }, {}) ?? []];
    };
    expect(late({ rawInput: { url: "http://x" } }).slice(1)).toEqual([
      { type: "progress", message: 'The input of fetch: {"url":"http://x"}' },
    ]);
    expect(late({ kind: "other", rawInput: { command: "rm x" } }).slice(1)).toMatchObject([
      { type: "tool_call", call_id: "1~1", input: { command: "rm x" } },
    ]);
    expect(events([{ ...begun, ...command }, { kind: "edit", rawInput: { path: "a" } }])).toHaveLength(1);
  });
});

describe("a request for permission shows what it is about", () => {
  test.each<[string, JsonFields[], JsonFields, JsonFields]>([
    [
      "the command that a description hides",
      [],
      { title: "tidy up", rawInput: { command: "rm -r x" } },
      { title: "tidy up: rm -r x", input: { command: "rm -r x" } },
    ],
    [
      "a command that is the title",
      [{ rawInput: { command: ["rm", "x"] } }],
      { title: "rm x" },
      { title: "rm x", input: { command: ["rm", "x"] } },
    ],
    [
      "the differences that the call has told",
      [{ title: "Editing", content: [diff] }],
      { title: "Edit files" },
      { title: "Edit files: /work/a.txt", input: { title: "Edit files", content: [diff] } },
    ],
    [
      "the differences of the request",
      [],
      { title: "Write a.txt", content: [diff], locations: [{ path: "/work/a.txt" }] },
      { title: "Write a.txt", input: { title: "Write a.txt", locations: ["/work/a.txt"], content: [diff] } },
    ],
    [
      "a text",
      [{ title: "Bash" }],
      { title: "Bash", content: [text("Run: ls")] },
      { title: "Bash: Run: ls", input: { title: "Bash", content: "Run: ls" } },
    ],
    [
      "a text beside the arguments",
      [{ title: "Bash", rawInput: { command: "ls" } }],
      { content: [text("Run it?")] },
      { title: "Bash: ls", input: { command: "ls", content: "Run it?" } },
    ],
    [
      "arguments that have a content of their own",
      [{ title: "Write", rawInput: { file_path: "a", content: "b" } }],
      { content: [diff] },
      { title: "Write: /work/a.txt", input: { file_path: "a", content: "b" } },
    ],
    ["nothing but its kind", [], { kind: "fetch" }, { title: "fetch", input: { title: "" } }],
  ])("%s", (_name, told, request, shown) => {
    expect(asked(told, request)).toMatchObject(shown);
  });
});

test("a call that was denied may be told of once more, from its beginning to its end", () => {
  const denied = [{ status: "pending", rawInput: { a: 1 } }, { status: "failed" }];
  const again = [{ status: "pending", rawInput: { a: 1 } }, { status: "failed", rawOutput: "It was denied." }];
  expect(events([...denied, ...again]).map(({ type }) => type)).toEqual(["tool_call", "tool_result"]);
  const calls = new ToolCalls(() => undefined);
  for (const update of denied) calls.take({ toolCallId: "1", ...update }, {});
  for (const update of again) expect(calls.take({ toolCallId: "1", ...update }, {})).toEqual([]);
});

describe("the result of a call", () => {
  test("is not the text of its request: a list replaces the one before, an empty one as well", () => {
    const request = { content: [text("May I?")], locations: [{ path: "/a" }] };
    const [, result] = events([request, { status: "completed", content: [] }]);
    expect(result).toMatchObject({ type: "tool_result", output: null });
    const [, kept] = events([request, { status: "completed", content: null }]);
    expect(kept).toMatchObject({ output: "May I?" });
    expect(events([{ kind: "delete", ...request }, { status: "completed", locations: [] }])).toHaveLength(2);
  });

  test("has the tool's first name, also when the agent tells another one later", () => {
    const [call, result] = events([{ kind: "execute", status: "in_progress", rawInput: { a: 1 } }, {
      name: "exec",
      status: "completed",
    }]);
    expect([call, result]).toMatchObject([{ tool: "execute" }, { tool: "execute" }]);
  });

  const shown = [{ type: "terminal", terminalId: "t" }];

  test("is the output of the agent's own terminal, and how its command ended", () => {
    const piece = (data: string): JsonFields => ({ terminal_output_delta: { data, terminal_id: "t" } });
    const updates = [
      { status: "in_progress", rawInput: { a: 1 }, content: shown, _meta: { terminal_info: { cwd: "/" } } },
      { _meta: piece("one\n") },
      { status: "failed", _meta: { ...piece("two\n"), terminal_exit: { exit_code: 3, signal: null } } },
    ];
    expect(events(updates).at(-1)).toMatchObject({ success: false, output: { exit_code: 3, output: "one\ntwo\n" } });
    const ended = {
      status: "failed",
      content: shown,
      _meta: { terminal_exit: { exit_code: null, signal: "SIGTERM" } },
    };
    expect(events([ended]).at(-1)).toMatchObject({ output: { exit_code: null, signal: "SIGTERM", output: "" } });
  });

  test("is the output of the host's terminal, where its command ran in one", () => {
    const find: FindOutcome = (id) => id === "t" ? { exit_code: 0, output: "seen\n" } : undefined;
    const [, result] = events([{ status: "completed", content: shown, rawOutput: { any: 1 } }], find);
    expect(result).toMatchObject({ output: { exit_code: 0, output: "seen\n" } });
  });
});
