import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { until } from "../sessions/host/test-host.ts";
import { printed } from "./recorded-lines.ts";
import { allRequested, openOwnAgent, openScriptedAgent } from "./scripted-agent.ts";
import { interruptWhen } from "./stand-in.ts";

test("a session with an agent of the protocol behind a process wall, by the grant of its program alone", async () => {
  const agent = await openScriptedAgent();
  const { events, result } = await agent.run({ prompt: "--say 'it'\n[[scn:ok]]", model: "large" });
  expect(result).toMatchObject({
    outcome: "completed",
    stop_reason: "end_turn",
    output: "done",
    usage: { tokens_in: 140, tokens_out: 20, tokens_cached: 30, cost: null, model: "large" },
    artifacts: [],
  });
  expect(result.error).toBe(undefined);
  expect(events.map(({ type }) => type)).toEqual(["agent_info", "thinking", "output", "output", "usage", "completed"]);
  expect(events[0]).toEqual({
    type: "agent_info",
    agent_session_id: "session-1",
    agent_version: "1.2.3",
    model: "large",
  });
  const calls: unknown[] = await agent.calls();
  expect(calls).toMatchObject([
    {
      args: ["--acp"],
      initialize: {
        protocolVersion: 1,
        clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
      },
    },
    { new: { cwd: agent.made.workdir, mcpServers: [] } },
    { option: { sessionId: "session-1", configId: "model", value: "large" } },
    { prompt: "--say 'it'\n[[scn:ok]]" },
  ]);
  await until(async () => (await agent.alive()).length === 0);
});

test("every kind of update becomes its event, and what is unknown stays as it came", async () => {
  const agent = await openScriptedAgent();
  const { events, result } = await agent.run({ prompt: "[[scn:kinds]]" });
  expect(result).toMatchObject({ outcome: "completed", output: "Second.", usage: { cost: 0.25, tokens_in: 7 } });
  expect(printed(events)).toBe("First.\nSecond.");
  await expect(`${JSON.stringify(events, null, 2)}\n`).toMatchFileSnapshot("acp-kinds.txt");
});

describe("requests for permission", () => {
  test("one that is allowed: the tool writes its file, which git shows", async () => {
    const agent = await openScriptedAgent();
    const { events, result } = await agent.run({ prompt: "[[scn:tool]]", approval: "edits" });
    expect(result).toMatchObject({ stop_reason: "end_turn", artifacts: [{ path: "hello.txt" }], claimed_only: [] });
    expect(events.map(({ type }) => type)).toEqual([
      ...["agent_info", "output", "tool_call", "permission_request", "tool_result", "file_change", "output"],
      "completed",
    ]);
    expect(events.find(({ type }) => type === "permission_request")).toMatchObject({
      tool: "Write",
      kind: "edit",
      call_id: "call-1",
      title: "Write hello.txt",
      options: [{ id: "yes", kind: "allow_once" }, { id: "no", kind: "reject_once" }],
    });
    expect(await agent.calls()).toContainEqual({ outcome: { outcome: "selected", optionId: "yes" } });
  });

  test("one that a client answers", async () => {
    const agent = await openScriptedAgent();
    const { host, workdir } = agent.made;
    const session = await host.runSession({ workdir, prompt: "[[scn:tool]]", approval: "ask" }, { adapter: "acp" });
    for await (const { event } of session.events()) {
      if (event.type === "permission_request") await session.answer(event.request_id, "no");
    }
    const result = await session.result();
    expect(result).toMatchObject({ stop_reason: "end_turn", output: "Then not.", artifacts: [] });
  });

  test("one that is denied by policy: the agent is told no", async () => {
    const agent = await openScriptedAgent();
    const { events, result } = await agent.run({ prompt: "[[scn:tool]]", allowed_tools: [] });
    expect(result).toMatchObject({ stop_reason: "end_turn", output: "Then not." });
    expect(events).toContainEqual(expect.objectContaining({ type: "tool_result", success: false, output: "rejected" }));
  });

  test("an agent that ends its turn for a no has been refused; its tool is named by its id", async () => {
    const agent = await openScriptedAgent();
    const { events, result } = await agent.run({ prompt: "[[scn:rejected]]", approval: "deny" });
    expect(result).toMatchObject({ outcome: "blocked", stop_reason: "refused" });
    expect(events).toContainEqual(
      expect.objectContaining({ type: "permission_request", tool: "run", kind: "execute" }),
    );
  });

  test("a tool that is not allowed and never asks ends the session once it was used", async () => {
    const agent = await openScriptedAgent();
    const { result } = await agent.run({ prompt: "[[scn:kinds]]", allowed_tools: ["wr*te"] });
    expect(result).toMatchObject({ outcome: "error", error: { code: "permission_denied" } });
    expect(result.error?.message).toContain('"read" without asking');
    const allowed = await agent.run({ prompt: "[[scn:kinds]]", allowed_tools: ["r*", "*l*te", "other"] });
    expect(allowed.result).toMatchObject({ outcome: "completed" });
    await until(async () => (await agent.alive()).length === 0);
  });

  test.each([
    ["a list of modes", ["--modes=auto,plan,default"]],
    ["an option of the session", ["--modes=auto,plan,default", "--option-modes"]],
  ])("an agent that opens in a mode without them is put into the one that asks: %s", async (_, args) => {
    const agent = await openOwnAgent({ command: "my-agent", args }, { run: [{ binary: "my-agent" }] });
    const { events, result } = await agent.run({ prompt: "[[scn:free]]", approval: "deny" });
    expect(result).toMatchObject({ stop_reason: "end_turn", output: "done", artifacts: [] });
    expect(events).toContainEqual(expect.objectContaining({ type: "permission_request", kind: "execute" }));
  });

  test("one whose only mode has none is refused, or ended once it has worked", async () => {
    const open = (mode: string) =>
      openOwnAgent({ command: "my-agent", args: [`--modes=${mode}`] }, { run: [{ binary: "my-agent" }] });
    const refused = await (await open("yolo")).run({ prompt: "[[scn:free]]", approval: "ask" });
    expect(refused.result).toMatchObject({ outcome: "error", error: { code: "unenforceable" }, artifacts: [] });
    const ended = await (await open("code")).run({ prompt: "[[scn:free]]", approval: "ask" });
    expect(ended.result).toMatchObject({ outcome: "error", error: { code: "permission_denied" } });
    const free = await (await open("yolo")).run({ prompt: "[[scn:ok]]" });
    expect(free.result).toMatchObject({ outcome: "completed" });
  });

  test("one that nobody could answer is kept as it came, and cancelled", async () => {
    const agent = await openScriptedAgent();
    const { events, result } = await agent.run({ prompt: "[[scn:badask]]" });
    expect(events).toContainEqual(expect.objectContaining({ type: "unparsed" }));
    expect(result).toMatchObject({ stop_reason: "end_turn", output: "cancelled" });
  });
});

describe("files through the host", () => {
  const granted = { run: [{ binary: "gemini" }], read: ["workdir"], write: ["workdir"] };

  test("inside the working directory they are read and written, outside refused", async () => {
    const agent = await openScriptedAgent({ files: true }, { grant: granted });
    const { result } = await agent.run({ prompt: "[[scn:files]]" });
    expect(JSON.parse(result.output ?? "")).toEqual([
      // The known agent under whose name it runs takes the protocol's error for a failure of its tool.
      { content: "" },
      {},
      { content: "one\ntwo\nthree\n" },
      { content: "two" },
      { error: -32603 },
      { error: -32603 },
    ]);
    expect(result.artifacts).toMatchObject([{ path: "made.txt" }]);
    expect(await readFile(join(agent.made.workdir, "made.txt"), "utf8")).toBe("one\ntwo\nthree\n");
    const [first] = await agent.calls() as unknown as { initialize: unknown }[];
    expect(first?.initialize).toMatchObject({
      clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: false },
    });
  });

  test("a missing file is missing to an agent that understands it", async () => {
    const grant = { run: [{ binary: "my-agent" }], read: ["workdir"], write: ["workdir"] };
    const agent = await openOwnAgent({ command: "my-agent", files: true }, grant);
    const { result } = await agent.run({ prompt: "[[scn:files]]" });
    expect(JSON.parse(result.output ?? "")[0]).toEqual({ error: -32002 });
  });

  test("without the grant the broker refuses them, and without the option they are not offered", async () => {
    const ungranted = await openScriptedAgent({ files: true });
    const refused = await ungranted.run({ prompt: "[[scn:files]]" });
    expect(new Set(JSON.parse(refused.result.output ?? "").map(({ error }: { error: number }) => error))).toEqual(
      new Set([-32603]),
    );
    const unasked = await openScriptedAgent({}, { grant: granted });
    const unknown = await unasked.run({ prompt: "[[scn:files]]" });
    expect(JSON.parse(unknown.result.output ?? "")[1]).toEqual({ error: -32601 });
  });
});

describe("commands through the host", () => {
  test("with the grant of a shell they run, and are ended", async () => {
    const grant = { run: [{ binary: "gemini" }, { binary: "sh" }] };
    const agent = await openScriptedAgent({ terminals: true }, { grant });
    const { result } = await agent.run({ prompt: "[[scn:terminal]]" });
    expect(JSON.parse(result.output ?? "")).toEqual([
      { exit: { exitCode: 3, signal: null }, output: "it's\n", truncated: false },
      { exit: { exitCode: 0, signal: null }, output: "$HOME and 'that'\n", truncated: false },
      { exit: { exitCode: 0, signal: null }, output: "345", truncated: true },
      expect.stringMatching(/^SIG/),
    ]);
    const { events } = await agent.run({ prompt: "[[scn:command]]" });
    expect(events).toContainEqual(
      expect.objectContaining({ type: "tool_result", output: { exit_code: 3, output: "out\n" } }),
    );
  });

  test("without the grant the broker refuses them, and without the option they are not offered", async () => {
    const ungranted = await openScriptedAgent({ terminals: true });
    const { result } = await ungranted.run({ prompt: "[[scn:terminal]]" });
    expect(result).toMatchObject({ stop_reason: "end_turn", output: "refused: -32603" });
    const unasked = await openScriptedAgent({}, { grant: await allRequested() });
    expect((await unasked.run({ prompt: "[[scn:terminal]]" })).result.output).toBe("refused: -32601");
  });
});

describe("an interrupted session", () => {
  test("is cancelled in the protocol's way, and leaves no process", async () => {
    const agent = await openScriptedAgent();
    const result = await interruptWhen(agent, {
      adapter: "acp",
      prompt: "[[scn:stay]]",
      seen: ({ event }) => event.type === "tool_call",
      processes: 2,
    });
    expect(result.stop_reason).toBe("interrupted");
    await until(async () => (await agent.alive()).length === 0);
    expect(await agent.calls()).toContainEqual({ cancelled: true });
  });

  test("of an agent that does not listen is killed with all it started", async () => {
    const agent = await openScriptedAgent({}, { limits: { agent_grace_ms: 500 } });
    const result = await interruptWhen(agent, {
      adapter: "acp",
      prompt: "[[scn:deaf]]",
      seen: ({ event }) => event.type === "tool_call",
      processes: 2,
    });
    expect(result.stop_reason).toBe("interrupted");
    await until(async () => (await agent.alive()).length === 0);
  });
});

test("an agent that does not leave when its turn is over is ended", async () => {
  const agent = await openScriptedAgent();
  const { result } = await agent.run({ prompt: "[[scn:linger]]" });
  expect(result).toMatchObject({ stop_reason: "end_turn", output: "done" });
  await until(async () => (await agent.alive()).length === 0);
});

describe("a session that goes on", () => {
  test("is loaded, and what was said before is not said again", async () => {
    const agent = await openScriptedAgent({ mode: "plan" });
    const { events, result } = await agent.run({ prompt: "[[scn:ok]]", continue_from: "session-1" });
    expect(result).toMatchObject({ stop_reason: "end_turn", output: "done" });
    expect(printed(events)).toBe("done");
    expect(events.filter(({ type }) => type === "tool_call")).toEqual([]);
    expect(events).toContainEqual({ type: "progress", message: expect.stringContaining("3 updates") });
    const calls: unknown[] = await agent.calls();
    expect(calls).toContainEqual({ load: { sessionId: "session-1", cwd: agent.made.workdir, mcpServers: [] } });
    expect(calls).toContainEqual({ mode: { sessionId: "session-1", modeId: "plan" } });
  });

  test("with an agent that keeps none is refused", async () => {
    const agent = await openOwnAgent({ command: "my-agent", args: ["--no-load"] }, { run: [{ binary: "my-agent" }] });
    const { result } = await agent.run({ prompt: "[[scn:ok]]", continue_from: "session-1" });
    expect(result).toMatchObject({ outcome: "error", error: { code: "unsupported" } });
  });
});

describe("a conversation with an agent that lacks a way to its sessions", () => {
  const words = (text: string) => [{ type: "text" as const, text: `[[scn:ok]] ${text}` }];

  async function talked(args: string[]) {
    const agent = await openOwnAgent({ command: "my-agent", args }, { run: [{ binary: "my-agent" }] });
    const { host, workdir } = agent.made;
    const first = await host.runSession({ workdir, prompt: "[[scn:ok]] first" }, { adapter: "acp" });
    await first.result();
    const end = async (id: string) => await (await host.sessions.open(id)).result();
    const methods = async () =>
      (await agent.calls() as unknown as Record<string, unknown>[]).flatMap((call) =>
        Object.keys(call).filter((name) => ["new", "load", "fork", "prompt"].includes(name))
      );
    const prompt = async () => (await agent.calls()).at(-1)!.prompt;
    return { id: first.id, conversations: host.sessions.conversations, end, methods, prompt };
  }

  test.each([
    ["none", [], []],
    ["none, though it says so", ["--forks=not"], ["fork"]],
    ["one without a name", ["--forks=nameless"], ["fork"]],
    ["one under the name of the other", ["--forks=same"], ["fork"]],
  ])("forks by a briefing where the agent makes no copy: %s", async (_, args, asked) => {
    const { id, conversations, end, methods, prompt } = await talked(args);
    const fork = await conversations.fork(id, { prompt: "[[scn:ok]] other" });
    expect(await end(fork.session_id)).toMatchObject({ outcome: "completed", output: "done" });
    expect(await methods()).toEqual(["new", "prompt", ...asked, "new", "prompt"]);
    expect(await prompt()).toMatch(/first.*other/s);
  });

  test("goes on by a briefing where the agent keeps no sessions", async () => {
    const { id, conversations, end, methods, prompt } = await talked(["--no-load"]);
    const { session_id } = await conversations.say(id, { content: words("second") });
    expect(await end(session_id)).toMatchObject({ outcome: "completed", output: "done" });
    expect(await methods()).toEqual(["new", "prompt", "new", "prompt"]);
    expect(await prompt()).toMatch(/first.*second/s);
  });
});

describe("what goes wrong", () => {
  test("an agent that dies in the middle of a turn: a crash, with what it said last", async () => {
    const agent = await openScriptedAgent();
    const { events, result } = await agent.run({ prompt: "[[scn:crash]]" });
    expect(result).toMatchObject({ outcome: "error", stop_reason: "crash" });
    expect(result.error?.message).toContain("segmentation of some fault");
    expect(printed(events)).toBe("half of");
  });

  test("a program that does not speak the protocol", async () => {
    const agent = await openOwnAgent({ command: "my-agent", args: ["--no-acp"] }, { run: [{ binary: "my-agent" }] });
    const { result } = await agent.run({ prompt: "[[scn:ok]]" });
    expect(result).toMatchObject({ outcome: "error", stop_reason: "unavailable" });
    expect(result.error?.message).toContain("unknown option --acp");
  });

  test("an agent that speaks another version of it", async () => {
    const agent = await openOwnAgent({ command: "my-agent", args: ["--future"] }, { run: [{ binary: "my-agent" }] });
    const { result } = await agent.run({ prompt: "[[scn:ok]]" });
    expect(result).toMatchObject({ outcome: "error", error: { code: "unsupported" } });
  });

  test("a limit on standard error is told once, however many lines it takes, and no line is lost", async () => {
    const agent = await openScriptedAgent();
    const { events, result } = await agent.run({ prompt: "[[scn:limited]]" });
    expect(result).toMatchObject({ outcome: "completed" });
    expect(events.filter(({ type }) => type === "rate_limit")).toMatchObject([{ message: "429 Too Many Requests" }]);
    const said = events.map((event) => (event.type === "output" && event.stream === "stderr" ? event.data : ""));
    expect(said.join("")).toContain("429 Too Many Requests\n  status: 429,\n");
  });

  test("a limit that stands in what a tool prints is none of the agent's, while the tool runs and after it", async () => {
    const agent = await openScriptedAgent();
    const { events, result } = await agent.run({ prompt: "[[scn:copied]]" });
    expect(result).toMatchObject({ outcome: "completed" });
    expect(events.filter(({ type }) => type === "rate_limit")).toEqual([]);
  });

  test("a limit with which the agent also answers is told once, in the answer's words", async () => {
    const agent = await openScriptedAgent();
    const { events, result } = await agent.run({ prompt: "[[scn:limit]]" });
    expect(result).toMatchObject({ outcome: "error", stop_reason: "rate_limit" });
    const message = "Internal error: 429 Too Many Requests";
    expect(events.filter(({ type }) => type === "rate_limit")).toEqual([{
      type: "rate_limit",
      message,
      wait_ms: null,
    }]);
  });

  test("a limit after which the agent tries again is told while it does, without commands to a terminal", async () => {
    const agent = await openScriptedAgent();
    const { host, workdir } = agent.made;
    const request = { workdir, prompt: "[[scn:retried]]", approval: "ask", answer_timeout_ms: 30_000 } as const;
    const session = await host.runSession(request, { adapter: "acp" });
    let asked: string | null = null;
    const limits: unknown[] = [];
    for await (const { event } of session.events()) {
      if (event.type === "permission_request") asked = event.request_id;
      if (event.type === "rate_limit") limits.push(event.message);
      // The answer lets the turn end: by then the limit has been told.
      if (asked !== null && limits.length > 0) await session.answer(asked, "yes");
    }
    expect(await session.result()).toMatchObject({ outcome: "completed" });
    expect(limits).toEqual(["429 Too Many Requests, retrying"]);
  });

  test("lines that are no messages: text is output, the rest is kept, and the turn goes on", async () => {
    const agent = await openScriptedAgent();
    const { events, result } = await agent.run({ prompt: "[[scn:malformed]]" });
    expect(result).toMatchObject({ outcome: "completed" });
    expect(printed(events)).toContain("a word of some library\n");
    const kept = events.flatMap((event) => (event.type === "unparsed" ? [event.data] : []));
    expect(kept).toEqual([
      '{"jsonrpc":"2.0","method":"session/upd',
      { jsonrpc: "2.0", method: "session/update" },
      { json: "other" },
      { jsonrpc: "2.0" },
      expect.objectContaining({ method: "session/update" }),
    ]);
  });

  test.each([
    ["[[error:-32000:Authentication required]]", "unavailable"],
    ["[[error:401:no]]", "unavailable"],
    ["[[error:429:no]]", "rate_limit"],
    ["[[error:-32603:You have exhausted your daily quota]]", "rate_limit"],
    ["[[error:-32603:prompt is too long]]", "fatal"],
    ["[[error:503:no]]", "unavailable"],
    ["[[error:-32603:something]]", "fatal"],
    ["[[stop:max_tokens]]", "fatal"],
    ["[[stop:refusal]]", "refused"],
    ["[[stop:cancelled]]", "fatal"],
  ])("%s ends as %s", async (prompt, stopReason) => {
    const agent = await openScriptedAgent();
    const { result } = await agent.run({ prompt });
    expect(result.stop_reason).toBe(stopReason);
    expect(result.error?.message).toMatch(/\w/);
  });

  test("a turn that failed though the agent says that it ended", async () => {
    const agent = await openOwnAgent({ command: "my-agent", args: ["--named", "Copilot"] }, {
      run: [{ binary: "my-agent" }],
    });
    const limited = await agent.run({ prompt: "[[scn:hidden]]" });
    expect(limited.result).toMatchObject({ outcome: "error", stop_reason: "rate_limit" });
    expect(limited.events.filter(({ type }) => type === "rate_limit")).toMatchObject([{ wait_ms: 2000 }]);
    const silent = await agent.run({ prompt: "[[scn:silent]]" });
    expect(silent.result).toMatchObject({ outcome: "error", stop_reason: "unavailable" });
  });

  test("a model or a mode that the agent does not offer", async () => {
    const agent = await openScriptedAgent();
    const { result } = await agent.run({ prompt: "[[scn:ok]]", model: "huge" });
    expect(result).toMatchObject({ outcome: "error", error: { code: "invalid_model" } });
    const mode = await agent.run({ prompt: "[[scn:ok]]", params: { mode: "yolo" } });
    expect(mode.result).toMatchObject({ outcome: "error", error: { code: "invalid_request" } });
  });
});

test("a flood of 20,000 updates arrives whole and in order, and so does a long line", async () => {
  const agent = await openScriptedAgent();
  const { events } = await agent.run({ prompt: "[[scn:flood]]" });
  expect(printed(events)).toBe("0123456789".repeat(20_000));
  const long = await agent.run({ prompt: "[[scn:long]]" });
  expect(printed(long.events)).toBe("é".repeat(200_000));
});

test("MCP servers that the operator registered reach the agent, in the ways that it has", async () => {
  const manifest = `mcp_servers:
  files: { command: files-server, args: [--root], env: { LEVEL: high } }
  web: { url: "https://example.com/mcp" }
`;
  const agent = await openScriptedAgent({}, {
    manifest,
    grant: { run: [{ binary: "gemini" }], mcp_servers: ["gemini"] },
  });
  const { result } = await agent.run({ prompt: "[[scn:ok]]", mcp_servers: ["files"] });
  expect(result).toMatchObject({ stop_reason: "end_turn" });
  const env = [{ name: "LEVEL", value: "high" }];
  const mcpServers = [{ name: "files", command: "files-server", args: ["--root"], env }];
  expect(await agent.calls()).toContainEqual({ new: { cwd: agent.made.workdir, mcpServers } });
  const continued = await agent.run({ prompt: "[[scn:ok]]", mcp_servers: ["files"], continue_from: "session-1" });
  expect(continued.result).toMatchObject({ stop_reason: "end_turn" });
  expect(await agent.calls()).toContainEqual({ load: { sessionId: "session-1", cwd: agent.made.workdir, mcpServers } });
  const refused = await agent.run({ prompt: "[[scn:ok]]", mcp_servers: ["files", "web"] });
  expect(refused.result.error).toMatchObject({ code: "unsupported", message: expect.stringContaining('"web"') });
});

describe("an agent of the operator's own", () => {
  test("runs with the arguments and variables of the options, once they are granted", async () => {
    const config = { command: "my-agent", args: ["serve", "--for me"], env: ["MY_KEY"], auth_method: "by-key" };
    const agent = await openOwnAgent(config, { run: [{ binary: "my-agent" }] });
    const { result } = await agent.run({ prompt: "[[scn:ok]]", env: { MY_KEY: "value" } });
    expect(result).toMatchObject({ stop_reason: "end_turn" });
    const calls: unknown[] = await agent.calls();
    expect(calls[0]).toMatchObject({ args: ["serve", "--for me"], env: { MY_KEY: "value" } });
    expect(calls).toContainEqual({ authenticate: { methodId: "by-key" } });
  });

  test("does not run with others", async () => {
    const agent = await openOwnAgent({ command: "my-agent", args: ["serve"] }, { run: [{ binary: "my-agent" }] });
    const other = await agent.run({ prompt: "[[scn:ok]]", params: { args: ["--other"] } });
    expect(other.result).toMatchObject({ outcome: "error", error: { code: "permission_denied" } });
    const another = await openOwnAgent({ command: "sh", args: ["-x"] }, { run: [{ binary: "my-agent" }] });
    const denied = await another.run({ prompt: "[[scn:ok]]" });
    expect(denied.result).toMatchObject({ outcome: "error", error: { code: "permission_denied" } });
  });

  test.each([
    [{}],
    [{ agent: "gemini", command: "my-agent" }],
  ])("is not found by the options %j", async (config) => {
    const agent = await openOwnAgent(config, { run: [{ binary: "my-agent" }] });
    const { result } = await agent.run({ prompt: "[[scn:ok]]" });
    expect(result).toMatchObject({ outcome: "error", error: { code: "invalid_config" } });
  });
});

test("a request cannot choose another known agent than the operator did", async () => {
  const agent = await openScriptedAgent();
  const { result } = await agent.run({ prompt: "[[scn:ok]]", params: { agent: "opencode" } });
  expect(result).toMatchObject({ outcome: "error", error: { code: "invalid_config" } });
  expect((await agent.run({ prompt: "[[scn:ok]]", params: { agent: "gemini" } })).result.outcome).toBe("completed");
});

describe("the probe", () => {
  test("finds an agent with which a session can begin, and leaves none", async () => {
    const agent = await openScriptedAgent();
    const reports = await agent.made.host.agents();
    expect(reports.find(({ id }) => id === "acp")).toMatchObject({ availability: "available", agent_version: "1.2.3" });
    expect(await agent.calls()).toContainEqual({ close: { sessionId: "session-1" } });
    await until(async () => (await agent.alive()).length === 0);
  });

  test.each([
    ["--no-auth", { availability: "unauthenticated", reason: expect.stringMatching(/authentication/i) }],
    ["--no-acp", { availability: "unrunnable", reason: expect.stringContaining("unknown option --acp") }],
    ["--future", { availability: "incompatible" }],
    ["--chatty", { availability: "available" }],
  ])("says how it is with one that is started with %s", async (argument, report) => {
    const agent = await openOwnAgent({ command: "my-agent", args: [argument] }, { run: [{ binary: "my-agent" }] });
    const reports = await agent.made.host.agents();
    expect(reports.find(({ id }) => id === "acp")).toMatchObject(report);
  });
});
