import { describe, expect, test } from "vitest";
import type { AdapterEvent, PermissionOption } from "../../../plugin-sdk/events.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { ToolKind } from "../../../plugin-sdk/tool-kinds.ts";
import { done, failsWith, type Script, ScriptedSession, type Stage } from "./scripted-session.ts";

type Asked = Pick<Partial<SessionRequest>, "approval" | "allowed_tools" | "tool_approvals">;

const ask: Asked = { approval: "ask" };
const options: PermissionOption[] = (["allow_once", "allow_always", "reject_once"] as const)
  .map((kind) => ({ id: kind, label: kind, kind }));

function call(
  tool: string,
  kind: ToolKind,
  { id = tool, input = {} }: { id?: string; input?: unknown } = {},
): AdapterEvent {
  return { type: "tool_call", call_id: id, tool, kind, input };
}

function result(tool: string, { id = tool, success = true, output = null as unknown } = {}): AdapterEvent {
  return { type: "tool_result", call_id: id, tool, output, success, duration_ms: null };
}

function request(tool: string, kind: ToolKind, call_id?: string): AdapterEvent {
  const about = call_id === undefined ? {} : { call_id };
  return {
    type: "permission_request",
    request_id: `ask-${call_id ?? tool}`,
    tool,
    title: tool,
    kind,
    ...about,
    options,
  };
}

/** Runs one script, with a client that gives this answer to every request. */
async function run(scripts: Script | Script[], asked: Asked, answer = "allow_once") {
  const adapters = [scripts].flat().map((script, at) => ({ id: `adapter-${at}`, scripts: [script] }));
  const scripted = new ScriptedSession(adapters, { request: { retry: "always", ...asked } });
  const client = setInterval(() => {
    for (const { request_id } of scripted.session.waiting) scripted.session.answer(request_id, answer);
  }, 1);
  const ended = await scripted.ended().finally(() => clearInterval(client));
  return { ended, types: scripted.types };
}

const says = (...events: AdapterEvent[]): Script => ({ say }) => say(...events, done);

/** A script that asks for a call and goes on once it is answered. */
const asks = (first: AdapterEvent[], id: string, then: AdapterEvent[]): Script => async ({ say, answer }: Stage) => {
  say(...first);
  await answer(id);
  say(...then, done);
};

describe("work that was not asked for ends the session", () => {
  const touched: AdapterEvent[] = [call("Bash", "execute"), result("Bash")];
  const cases: [string, Asked, AdapterEvent[]][] = [
    ["a command under ask", ask, touched],
    ["a command under reads", { approval: "reads" }, touched],
    ["a command under edits", { approval: "edits" }, touched],
    ["a command under deny", { approval: "deny" }, touched],
    ["a command whose tool is denied", { tool_approvals: { Bash: "deny" } }, touched],
    ["a command where all are denied", { tool_approvals: { "*": "deny" } }, touched],
    ["an edit under ask", ask, [call("Write", "edit"), result("Write")]],
    ["an edit under reads", { approval: "reads" }, [call("Write", "edit"), result("Write")]],
    ["a delete under deny", { approval: "deny" }, [call("Remove", "delete"), result("Remove")]],
    ["a tool that is not in the list, of any kind", { allowed_tools: ["Write"] }, [
      call("Read", "read"),
      result("Read"),
    ]],
    ["a read whose tool is denied by name", { tool_approvals: { Read: "deny" } }, [
      call("Read", "read"),
      result("Read"),
    ]],
    ["a command that says how it failed", ask, [
      call("Bash", "execute"),
      result("Bash", { success: false, output: "Exit code 1\nno such file" }),
    ]],
    ["a command of no known kind, by its name", ask, [call("run_shell_command", "other"), result("run_shell_command")]],
    ["a server's tool that writes, by its name", ask, [
      call("mcp__fs__write_file", "other"),
      result("mcp__fs__write_file"),
    ]],
    ["a command of no known kind, by its input", ask, [
      call("x", "other", { input: { command: ["touch", "a"] } }),
      result("x"),
    ]],
    ["an edit of no known kind, by what it shows", ask, [
      call("other", "other", { input: { title: "A file", content: [{ type: "diff", path: "a", newText: "" }] } }),
      result("other"),
    ]],
    ["an edit of no known kind, by its title", ask, [
      call("other", "other", { input: { title: "Write hello.txt" } }),
      result("other"),
    ]],
    ["a change that no call tells of", ask, [{ type: "file_change", path: "a.txt", action: "create" }]],
    ["the second of two, where the first was asked for nothing", ask, [
      call("Read", "read"),
      result("Read"),
      ...touched,
    ]],
  ];
  test.each(cases)("%s", async (_, asked, events) => {
    const { ended, types } = await run(says(...events), asked);
    expect(ended).toMatchObject({ outcome: "error", stop_reason: "fatal", error: { code: "permission_denied" } });
    expect(ended.error?.hint).toContain("mode of the agent");
    expect(types).not.toContain("attempt_failed");
  });

  test("one that was denied and done all the same", async () => {
    const script = asks([call("Bash", "execute"), request("Bash", "execute", "Bash")], "ask-Bash", [result("Bash")]);
    const { ended } = await run(script, ask, "reject_once");
    expect(ended.error?.message).toContain('"Bash" without a yes to its request');
  });

  test("one that was done before the answer", async () => {
    const { ended } = await run(
      says(call("Bash", "execute"), request("Bash", "execute", "Bash"), result("Bash")),
      { approval: "deny" },
    );
    expect(ended.error?.code).toBe("permission_denied");
  });

  test("another call than the one that was allowed", async () => {
    const script = asks([call("Bash", "execute"), request("Bash", "execute", "Bash")], "ask-Bash", [
      result("Bash"),
      call("Bash", "execute", { id: "2" }),
      result("Bash", { id: "2" }),
    ]);
    expect((await run(script, ask)).ended.error?.code).toBe("permission_denied");
  });

  test("a yes of an attempt before counts for nothing", async () => {
    const first = asks([call("Bash", "execute"), request("Bash", "execute", "Bash")], "ask-Bash", [result("Bash")]);
    const failed: Script = async (stage) => {
      await first({ ...stage, say: (...events) => stage.say(...events.filter((event) => event !== done)) });
      return await failsWith("unavailable")(stage);
    };
    const { ended, types } = await run([failed, says(call("Bash", "execute"), result("Bash"))], ask, "allow_always");
    expect(types).toContain("attempt_failed");
    expect(ended.error?.code).toBe("permission_denied");
  });
});

describe("work goes on", () => {
  const cases: [string, Asked, AdapterEvent[]][] = [
    ["where nothing was said of approval", {}, [call("Bash", "execute"), result("Bash")]],
    ["under all", { approval: "all" }, [call("Bash", "execute"), result("Bash")]],
    ["after reading", ask, [call("Read", "read"), result("Read"), call("Grep", "search"), result("Grep")]],
    ["after reading where all tools are denied", { tool_approvals: { "*": "deny" } }, [
      call("Read", "read"),
      result("Read"),
    ]],
    ["after a tool of which nothing is known", { approval: "deny" }, [
      call("write_todos", "other"),
      result("write_todos"),
    ]],
    ["after an edit under edits", { approval: "edits" }, [
      call("Write", "edit"),
      result("Write"),
      { type: "file_change", path: "a", action: "create" },
    ]],
    ["after a tool that is allowed by name", { approval: "ask", tool_approvals: { Bash: "allow" } }, [
      call("Bash", "execute"),
      result("Bash"),
      { type: "file_change", path: "a", action: "create" },
    ]],
    ["after a tool of the list", { allowed_tools: ["B*"] }, [call("Bash", "execute"), result("Bash")]],
    ["after a call that failed before it ran", ask, [
      call("Edit", "edit"),
      result("Edit", { success: false, output: "File has not been read yet." }),
      call("Bash", "execute"),
      result("Bash", { success: false, output: "Permission to use Bash has been denied." }),
      call("Bash", "execute", { id: "2" }),
      result("Bash", { id: "2", success: false, output: { exit_code: 1, output: "bwrap: No permissions\n" } }),
    ]],
  ];
  test.each(cases)("%s", async (_, asked, events) => {
    expect((await run(says(...events), asked)).ended).toMatchObject({ outcome: "completed", stop_reason: "end_turn" });
  });

  test("after a yes, with the changes that the call made", async () => {
    const change: AdapterEvent = { type: "file_change", path: "a", action: "create" };
    const script = asks([call("Bash", "execute"), request("Bash", "execute", "Bash")], "ask-Bash", [
      result("Bash"),
      change,
    ]);
    expect((await run(script, ask)).ended.stop_reason).toBe("end_turn");
  });

  test("after a no that the agent heeds", async () => {
    const script = asks([call("Bash", "execute"), request("Bash", "execute", "Bash")], "ask-Bash", [
      result("Bash", { success: false, output: "Exit code 1" }),
    ]);
    expect((await run(script, ask, "reject_once")).ended.stop_reason).toBe("end_turn");
  });

  test("after a yes to a request that came before its call, or that names none", async () => {
    const before = asks([request("Bash", "execute", "1")], "ask-1", [
      call("Bash", "execute", { id: "1" }),
      result("Bash", { id: "1" }),
    ]);
    expect((await run(before, ask)).ended.stop_reason).toBe("end_turn");
    const nameless = asks([request("Bash", "execute")], "ask-Bash", [call("Bash", "execute"), result("Bash")]);
    expect((await run(nameless, ask)).ended.stop_reason).toBe("end_turn");
  });

  test("after a yes for good, for what is of the same family alone", async () => {
    const again = (tool: string, kind: ToolKind) =>
      asks([call("Write", "edit"), request("Write", "edit", "Write")], "ask-Write", [
        result("Write"),
        call(tool, kind, { id: "2" }),
        result(tool, { id: "2" }),
      ]);
    expect((await run(again("Edit", "edit"), ask, "allow_always")).ended.stop_reason).toBe("end_turn");
    expect((await run(again("Bash", "execute"), ask, "allow_always")).ended.error?.code).toBe("permission_denied");
  });

  test("after a yes for good to the end of a plan, which chooses what is asked from then on", async () => {
    const after = (tool: string) =>
      asks([request(tool, "other")], `ask-${tool}`, [call("Bash", "execute"), result("Bash")]);
    expect((await run(after("ExitPlanMode"), ask, "allow_always")).ended.stop_reason).toBe("end_turn");
    expect((await run(after("train_model"), ask, "allow_always")).ended.error?.code).toBe("permission_denied");
  });
});
