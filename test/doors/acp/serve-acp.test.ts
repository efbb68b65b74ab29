import type { PromptResponse, RequestPermissionResponse } from "@agentclientprotocol/sdk";
import { expect, test } from "vitest";
import type { PermissionRequestEvent } from "../../../plugin-sdk/events.ts";
import { serveAcp } from "../../../core/doors/acp/serve-acp.ts";
import { tinyPng, tinyPngBase64 } from "../../sessions/host/attachments/tiny-png.ts";
import { ScriptedHost } from "../../sessions/host/scripted-session-host.ts";
import { fakeResult } from "../cli/fake-host.ts";
import { until } from "../../sessions/host/test-host.ts";
import { connectClient } from "./acp-client.ts";

const workdir = "/work/project";
const prompt = (text: string) => [{ type: "text" as const, text }];
const permission: PermissionRequestEvent = {
  type: "permission_request",
  request_id: "r1",
  tool: "shell",
  title: "Run ls?",
  kind: "execute",
  input: { command: "ls" },
  options: [
    { id: "yes", label: "Yes", kind: "allow_once" },
    { id: "no", label: "No", kind: "reject_once" },
  ],
};

test("serveAcp lets a client drive a session, and its result travels with the answer", async () => {
  const host = new ScriptedHost(async (session) => {
    session.emit({ type: "output", stream: "stdout", data: "Hello, " });
    session.emit({ type: "output", stream: "stdout", data: "editor." });
    return { confidence: 0.75 };
  });
  await using editor = connectClient({ sessions: host });
  expect(await editor.initialize()).toMatchObject({ protocolVersion: 1, agentCapabilities: { loadSession: true } });
  const { sessionId, modes } = await editor.agent.request("session/new", { cwd: workdir, mcpServers: [] });
  expect(modes).toMatchObject({
    currentModeId: "auto",
    availableModes: [{ id: "auto" }, { id: "alpha" }, { id: "beta" }],
  });
  const answer = await editor.agent.request("session/prompt", { sessionId, prompt: prompt("go") });
  expect(answer).toMatchObject({
    stopReason: "end_turn",
    _meta: { bulkhead: { confidence: 0.75, provenance: { adapter_id: "alpha" }, outcome: "completed" } },
  });
  expect(editor.said()).toBe("Hello, editor.");
  expect(host.sessions[0]!.request).toMatchObject({ workdir, prompt: "go" });
});

test("serveAcp takes images and files, which the session's request names", async () => {
  const host = new ScriptedHost(async () => {});
  await using editor = connectClient({ sessions: host });
  expect(await editor.initialize()).toMatchObject({
    agentCapabilities: { promptCapabilities: { image: true, embeddedContext: true } },
  });
  const { sessionId } = await editor.agent.request("session/new", { cwd: workdir, mcpServers: [] });
  const image = { type: "image" as const, data: tinyPngBase64, mimeType: "text/html" };
  const blob = { type: "resource" as const, resource: { uri: "file:///a/../b.bin", blob: "AAEC" } };
  await editor.agent.request("session/prompt", { sessionId, prompt: [...prompt("look"), image, blob] });
  const [sent, file] = host.sessions[0]!.request.content ?? [];
  expect(sent).toMatchObject({ type: "image", mime_type: "image/png" });
  expect(file).toMatchObject({ type: "file", name: "b.bin", mime_type: "application/octet-stream" });
  expect(host.attached.uploads.get(sent!.sha256)).toEqual(tinyPng);
  const bad = editor.agent.request("session/prompt", { sessionId, prompt: [{ ...image, data: "no base64!" }] });
  await expect(bad).rejects.toThrow("is not base64");
});

test("serveAcp continues the agent's own session with the next prompt", async () => {
  const host = new ScriptedHost(async (session) => {
    session.emit({ type: "agent_info", agent_session_id: `native-${host.sessions.length}` });
  });
  await using editor = connectClient({ sessions: host });
  await editor.initialize();
  const { sessionId } = await editor.agent.request("session/new", { cwd: workdir, mcpServers: [] });
  for (const text of ["one", "two"]) await editor.agent.request("session/prompt", { sessionId, prompt: prompt(text) });
  expect(host.sessions.map(({ request }) => request.continue_from)).toEqual([undefined, "native-1"]);
  expect(host.sessions[1]!.options.adapter).toBe("alpha");
});

test("serveAcp says so when an agent cannot continue", async () => {
  const host = new ScriptedHost(async () => {});
  await using editor = connectClient({ sessions: host }, { notices: true });
  await editor.initialize();
  const { sessionId } = await editor.agent.request("session/new", { cwd: workdir, mcpServers: [] });
  for (const text of ["one", "two"]) await editor.agent.request("session/prompt", { sessionId, prompt: prompt(text) });
  const notices = editor.updates.flatMap(({ update }) => update.sessionUpdate === "notice" ? [update.title] : []);
  expect(notices.join()).toContain("does not know the earlier messages");
});

function selected(optionId: string): RequestPermissionResponse {
  return { outcome: { outcome: "selected", optionId } };
}

test("serveAcp passes permission requests to the client, and its choice to the session", async () => {
  const choices: (string | null)[] = [];
  const host = new ScriptedHost(async (session) => void choices.push(await session.ask(permission)));
  await using editor = connectClient({ sessions: host }, {
    permission: () => ({ outcome: { outcome: "selected", optionId: "no" } }),
  });
  await editor.initialize();
  const { sessionId } = await editor.agent.request("session/new", { cwd: workdir, mcpServers: [] });
  await editor.agent.request("session/prompt", { sessionId, prompt: prompt("go") });
  expect(choices).toEqual(["no"]);
  expect(editor.asked).toMatchObject([{
    toolCall: { title: "Run ls?", kind: "execute", rawInput: { command: "ls" } },
    options: [{ optionId: "yes", name: "Yes", kind: "allow_once" }, { optionId: "no" }],
  }]);
});

test.each<[string, () => unknown, string]>([
  ["an option that was not offered", () => selected("always\u001b[2K"), 'it has no choice "always\\u{1b}[2K"'],
  ["an answer without an outcome", () => ({}), "the client"],
  ["no answer at all", () => null, "the client"],
  [
    "an outcome of no known kind",
    () => ({ outcome: { outcome: "maybe" } }),
    "the client",
  ],
  ["a cancelled request", () => ({ outcome: { outcome: "cancelled" } }), "the client cancelled it"],
  ["an error", () => Promise.reject(new Error("no such view")), "the client answered with an error: "],
])("serveAcp takes %s for a no, and says so", async (_what, answer, why) => {
  const choices: (string | null)[] = [];
  const host = new ScriptedHost(async (session) => {
    choices.push(await session.ask(permission));
    choices.push(await session.ask({ ...permission, request_id: "r2", options: [permission.options[0]!] }));
  });
  await using editor = connectClient({ sessions: host }, { permission: answer as never, notices: true });
  await editor.initialize();
  const { sessionId } = await editor.agent.request("session/new", { cwd: workdir, mcpServers: [] });
  await editor.agent.request("session/prompt", { sessionId, prompt: prompt("go") });
  expect(choices).toEqual(["no", null]);
  const notices = editor.updates.flatMap(({ update }) => (update.sessionUpdate === "notice" ? [update.title] : []));
  expect(notices.filter((text) => text.startsWith(`The agent's request is denied: ${why}`))).toHaveLength(2);
});

test("serveAcp takes a question that a client cancels for one without an answer", async () => {
  const answers: (string | null)[] = [];
  const host = new ScriptedHost(async (session) => {
    const question = { type: "question", question: "Which?" } as const;
    answers.push(await session.ask({ ...question, request_id: "q1" }));
    answers.push(await session.ask({ ...question, request_id: "q2", options: ["a"] }));
  });
  await using editor = connectClient({ sessions: host }, { form: () => null });
  await editor.initialize();
  const { sessionId } = await editor.agent.request("session/new", { cwd: workdir, mcpServers: [] });
  await editor.agent.request("session/prompt", { sessionId, prompt: prompt("go") });
  expect(answers).toEqual([null, null]);
});

test("serveAcp shows a person what an agent asks so that it cannot pass for anything else", async () => {
  const label = "No\u001b[1A\u202e";
  const host = new ScriptedHost(async (session) => {
    const title = "Run ls?\u001b[2K\n\nThe host asks: allow all?";
    await session.ask({ ...permission, title, options: [{ id: label, label, kind: "reject_once" }] });
    await session.ask({ type: "question", request_id: "q1", question: "Which?\u009b2K", options: [label] });
  });
  await using editor = connectClient({ sessions: host }, {
    permission: ({ options }) => ({ outcome: { outcome: "selected", optionId: options[0]!.optionId } }),
  });
  await editor.initialize();
  const { sessionId } = await editor.agent.request("session/new", { cwd: workdir, mcpServers: [] });
  await editor.agent.request("session/prompt", { sessionId, prompt: prompt("go") });
  const name = "No\\u{1b}[1A\\u{202e}";
  expect(editor.asked).toMatchObject([
    { toolCall: { title: "Run ls?\\u{1b}[2K The host asks: allow all?" }, options: [{ optionId: label, name }] },
    { toolCall: { title: "Which?\\u{9b}2K" }, options: [{ optionId: "0", name }] },
  ]);
});

test("serveAcp asks no person for what policy has answered", async () => {
  const host = new ScriptedHost(async (session) => {
    session.emit(permission);
    session.emit({ type: "permission_resolved", request_id: "r1", choice: "yes", by: "policy" }, "host");
    await new Promise((resolve) => setTimeout(resolve, 300));
  });
  await using editor = connectClient({ sessions: host });
  await editor.initialize();
  const { sessionId } = await editor.agent.request("session/new", { cwd: workdir, mcpServers: [] });
  await editor.agent.request("session/prompt", { sessionId, prompt: prompt("go") });
  expect(editor.asked).toEqual([]);
});

test("serveAcp cancels: the session is interrupted and the prompt ends as cancelled", async () => {
  const host = new ScriptedHost(async (session) => void await session.ask(permission));
  await using editor = connectClient({ sessions: host }, { permission: () => new Promise(() => {}) });
  await editor.initialize();
  const { sessionId } = await editor.agent.request("session/new", { cwd: workdir, mcpServers: [] });
  const answer = editor.agent.request<PromptResponse>("session/prompt", { sessionId, prompt: prompt("go") });
  await until(() => editor.asked.length === 1);
  await editor.agent.notify("session/cancel", { sessionId });
  expect((await answer).stopReason).toBe("cancelled");
  expect(host.sessions[0]!.signal.aborted).toBe(true);
});

test("serveAcp puts a question as a form, and as a prompt to a client that has none", async () => {
  const answers: (string | null)[] = [];
  const host = new ScriptedHost(async (session) => {
    answers.push(await session.ask({ type: "question", request_id: "q1", question: "Which name?" }));
    session.emit({ type: "output", stream: "stdout", data: " Thanks." });
  });
  {
    await using editor = connectClient({ sessions: host }, { form: () => ({ answer: "from a form" }) });
    await editor.initialize();
    const { sessionId } = await editor.agent.request("session/new", { cwd: workdir, mcpServers: [] });
    await editor.agent.request("session/prompt", { sessionId, prompt: prompt("go") });
  }
  await using editor = connectClient({ sessions: host });
  await editor.initialize();
  const { sessionId } = await editor.agent.request("session/new", { cwd: workdir, mcpServers: [] });
  await editor.agent.request("session/prompt", { sessionId, prompt: prompt("go") });
  expect(editor.said()).toBe("Which name?");
  await editor.agent.request("session/prompt", { sessionId, prompt: prompt("from a prompt") });
  expect(editor.said()).toBe("Which name? Thanks.");
  expect(answers).toEqual(["from a form", "from a prompt"]);
  expect(host.sessions).toHaveLength(2);
});

test("serveAcp lists conversations and loads one in a new connection, with all that was said", async () => {
  const host = new ScriptedHost(async (session) => {
    session.emit({ type: "output", stream: "stdout", data: `I heard ${session.request.prompt}. ` });
    session.emit({ type: "agent_info", agent_session_id: `native-${host.sessions.length}` });
  });
  let id = "";
  {
    await using editor = connectClient({ sessions: host });
    await editor.initialize();
    const { sessionId } = await editor.agent.request("session/new", { cwd: workdir, mcpServers: [] });
    id = sessionId;
    for (const text of ["one", "two"]) {
      await editor.agent.request("session/prompt", { sessionId, prompt: prompt(text) });
    }
  }
  await using editor = connectClient({ sessions: host });
  await editor.initialize();
  const { sessions } = await editor.agent.request("session/list", {});
  expect(sessions).toMatchObject([{ sessionId: id, cwd: workdir, title: "one" }]);
  await editor.agent.request("session/load", { sessionId: id, cwd: workdir, mcpServers: [] });
  expect(editor.said()).toBe("I heard one. I heard two. ");
  const shown = editor.updates.flatMap(({ update }) =>
    update.sessionUpdate === "user_message_chunk" ? [update.content] : []
  );
  expect(shown).toMatchObject([{ text: "one" }, { text: "two" }]);
  await editor.agent.request("session/prompt", { sessionId: id, prompt: prompt("three") });
  expect(host.sessions[2]!.request.continue_from).toBe("native-2");
});

test("serveAcp runs each prompt on the adapter of the mode", async () => {
  const host = new ScriptedHost(async () => {});
  await using editor = connectClient({ sessions: host });
  await editor.initialize();
  const { sessionId } = await editor.agent.request("session/new", { cwd: workdir, mcpServers: [] });
  await editor.agent.request("session/set_mode", { sessionId, modeId: "beta" });
  await editor.agent.request("session/prompt", { sessionId, prompt: prompt("go") });
  expect(host.sessions[0]!.options.adapter).toBe("beta");
  await expect(editor.agent.request("session/set_mode", { sessionId, modeId: "gamma" })).rejects.toMatchObject({
    data: { error_type: "unknown_adapter" },
  });
});

test("serveAcp ends a prompt that failed with an error that holds its result", async () => {
  const host = new ScriptedHost(async () => ({
    stop_reason: "crash",
    error: { code: "crash", message: "The worker died.", hint: "See bulkhead plugin list." },
  }));
  await using editor = connectClient({ sessions: host });
  await editor.initialize();
  const { sessionId } = await editor.agent.request("session/new", { cwd: workdir, mcpServers: [] });
  await expect(editor.agent.request("session/prompt", { sessionId, prompt: prompt("go") })).rejects.toMatchObject({
    code: -32035,
    message: "The worker died.",
    data: {
      error_type: "crash",
      recovery_guidance: "See bulkhead plugin list.",
      details: { bulkhead: { provenance: { adapter_id: "alpha" } } },
    },
  });
});

test("serveAcp refuses what is out of order and goes on", async () => {
  const host = new ScriptedHost(async (session) => {
    await new Promise((resolve) => session.signal.addEventListener("abort", resolve, { once: true }));
  });
  await using editor = connectClient({ sessions: host });
  const early = editor.agent.request("session/new", { cwd: workdir, mcpServers: [] });
  await expect(early).rejects.toMatchObject({ code: -32600 });
  await editor.initialize();
  await expect(editor.agent.request("session/prompt", { sessionId: "no", prompt: [] })).rejects.toMatchObject({
    data: { error_type: "not_found" },
  });
  await expect(editor.agent.request("session/new", { cwd: "relative", mcpServers: [] })).rejects.toMatchObject({
    data: { error_type: "invalid_request" },
  });
  await expect(editor.agent.request("authenticate", { methodId: "x" })).rejects.toMatchObject({ code: -32602 });
  await editor.agent.notify("session/cancel", { sessionId: "no" });
  const { sessionId } = await editor.agent.request("session/new", { cwd: workdir, mcpServers: [] });
  const first = editor.agent.request<PromptResponse>("session/prompt", { sessionId, prompt: prompt("go") });
  await until(() => host.sessions.length === 1);
  await editor.agent.notify("session/cancel", { sessionId });
  expect((await first).stopReason).toBe("cancelled");
});

test("serveAcp answers what is no message with an error of the protocol, and serves the next one", async () => {
  const written: string[] = [];
  const line = (value: unknown) => `${typeof value === "string" ? value : JSON.stringify(value)}\n`;
  async function* input() {
    const lines = ["{", '"text"', "[]", "x".repeat(3000), { jsonrpc: "2.0", id: 1, method: "no/such" }, { id: 2 }, {
      jsonrpc: "2.0",
      id: 3,
      method: "initialize",
      params: { protocolVersion: 1, clientCapabilities: {} },
    }];
    for (const one of lines) yield new TextEncoder().encode(line(one));
    yield new Uint8Array([0xff, 0xfe, 0x0a]);
    await until(() => written.some((text) => text.includes('"id":3')));
  }
  await serveAcp({
    sessions: new ScriptedHost(async () => {}),
    bounds: { message_bytes: 2000, message_depth: 16 },
    wire: { input: input(), write: async (text) => void written.push(text) },
  });
  const answers = written.map((text) =>
    JSON.parse(text) as { id: unknown; error?: { code: number }; result?: unknown }
  );
  expect(answers.filter(({ id }) => id === null).map(({ error }) => error?.code)).toEqual(
    expect.arrayContaining([-32700, -32600, -32600, -32600, -32700]),
  );
  expect(answers.find(({ id }) => id === 3)?.result).toMatchObject({ protocolVersion: 1 });
});

test("serveAcp interrupts what runs when the client goes away", async () => {
  const host = new ScriptedHost(async (session) => {
    await new Promise((resolve) => session.signal.addEventListener("abort", resolve, { once: true }));
  });
  const editor = connectClient({ sessions: host });
  await editor.initialize();
  const { sessionId } = await editor.agent.request("session/new", { cwd: workdir, mcpServers: [] });
  const gone = editor.agent.request("session/prompt", { sessionId, prompt: prompt("go") }).catch(() => null);
  await until(() => host.sessions.length === 1);
  await editor[Symbol.asyncDispose]();
  await gone;
  await until(() => host.sessions[0]!.ended !== null);
  expect(host.sessions[0]!.ended!.stop_reason).toBe("interrupted");
});

test("serveAcp is not done before a kept session of a client that is gone has ended", async () => {
  const host = new ScriptedHost(async (session) => {
    session.emit(
      {
        type: "turn_ended",
        turn: 1,
        outcome: "completed",
        stop_reason: "end_turn",
        output: "",
        usage: fakeResult().usage,
        artifacts: [],
        checkpoint: null,
      },
      "host",
    );
    await new Promise((resolve) => session.signal.addEventListener("abort", resolve, { once: true }));
  });
  const open = host.open.bind(host);
  host.open = async (id) => {
    await new Promise((resolve) => setTimeout(resolve, 50));
    return await open(id);
  };
  const editor = connectClient({ sessions: host });
  await editor.initialize();
  const { sessionId } = await editor.agent.request("session/new", { cwd: workdir, mcpServers: [] });
  expect(await editor.agent.request("session/prompt", { sessionId, prompt: prompt("go") }))
    .toMatchObject({ stopReason: "end_turn" });
  await editor[Symbol.asyncDispose]();
  expect(host.sessions[0]!.ended).not.toBeNull();
});

test("serveAcp follows a loaded conversation that still runs: it asks, takes a prompt for an answer, and cancels", async () => {
  const said: (string | null)[] = [];
  const host = new ScriptedHost(async (session) => {
    session.emit({ type: "output", stream: "stdout", data: "Begun. " });
    said.push(await session.ask(permission));
    said.push(await session.ask({ type: "question", request_id: "q1", question: "Which name?" }));
    session.emit({ type: "output", stream: "stdout", data: "Going on. " });
    await new Promise((resolve) => session.signal.addEventListener("abort", resolve, { once: true }));
  });
  await using first = connectClient({ sessions: host }, { permission: () => new Promise(() => {}) });
  await first.initialize();
  const { sessionId } = await first.agent.request("session/new", { cwd: workdir, mcpServers: [] });
  const answer = first.agent.request<PromptResponse>("session/prompt", { sessionId, prompt: prompt("go") });
  await until(() => first.asked.length === 1);
  const load = { sessionId, cwd: workdir, mcpServers: [] };
  {
    // One that only looks ends nothing.
    await using looking = connectClient({ sessions: host }, { permission: () => new Promise(() => {}) });
    await looking.initialize();
    await looking.agent.request("session/load", load);
    expect(looking.said()).toBe("Begun. ");
  }
  expect(host.sessions[0]!.ended).toBeNull();

  await using second = connectClient({ sessions: host }, {
    permission: () => ({ outcome: { outcome: "selected", optionId: "yes" } }),
  });
  await second.initialize();
  await second.agent.request("session/load", load);
  await until(() => second.said().endsWith("Which name?"));
  // A request is a person's to answer once policy has had its time.
  await new Promise((resolve) => setTimeout(resolve, 200));
  const going = second.agent.request<PromptResponse>("session/prompt", { sessionId, prompt: prompt("Bulky") });
  await until(() => second.said().endsWith("Going on. "));
  expect(said).toEqual(["yes", "Bulky"]);
  await second.agent.notify("session/cancel", { sessionId });
  expect((await going).stopReason).toBe("cancelled");
  expect((await answer).stopReason).not.toBe("refusal");
  expect(host.sessions).toHaveLength(1);
});

test("serveAcp queues a prompt behind one that runs, here or elsewhere, and answers each at its own turn's end", async () => {
  const host = new ScriptedHost(async (session) => {
    session.emit({ type: "output", stream: "stdout", data: `${session.request.prompt}. ` });
    if (session.request.prompt !== "last") {
      await new Promise((resolve) => session.signal.addEventListener("abort", resolve, { once: true }));
    }
  });
  await using first = connectClient({ sessions: host });
  await first.initialize();
  const { sessionId } = await first.agent.request("session/new", { cwd: workdir, mcpServers: [] });
  const answer = first.agent.request<PromptResponse>("session/prompt", { sessionId, prompt: prompt("go") });
  await until(() => first.said() === "go. ");
  await using second = connectClient({ sessions: host });
  await second.initialize();
  await second.agent.request("session/load", { sessionId, cwd: workdir, mcpServers: [] });
  const next = second.agent.request<PromptResponse>("session/prompt", { sessionId, prompt: prompt("more") });
  await second.agent.notify("session/cancel", { sessionId });
  expect((await answer).stopReason).toBe("cancelled");
  await until(() => second.said() === "go. more. ");
  const last = second.agent.request<PromptResponse>("session/prompt", { sessionId, prompt: prompt("last") });
  await second.agent.notify("session/cancel", { sessionId });
  expect([(await next).stopReason, (await last).stopReason]).toEqual(["cancelled", "end_turn"]);
  const shown = second.updates.flatMap(({ update }) =>
    update.sessionUpdate === "user_message_chunk" ? [update.content] : []
  );
  expect(shown).toMatchObject([{ text: "go" }]);
});

test("serveAcp gives words into the turn under way, and says where none is", async () => {
  const host = new ScriptedHost(async (session) => {
    await new Promise((resolve) => session.signal.addEventListener("abort", resolve, { once: true }));
  });
  await using editor = connectClient({ sessions: host });
  expect(await editor.initialize()).toMatchObject({ _meta: { steering: { supported: true } } });
  const { sessionId } = await editor.agent.request("session/new", { cwd: workdir, mcpServers: [] });
  const steer = (idleBehavior?: string) =>
    editor.agent.request("_session/steering", {
      sessionId,
      prompt: prompt("slower"),
      _meta: { steering: { idleBehavior } },
    });
  expect(await steer("promptRequired")).toEqual({ outcome: "promptRequired", reason: "noRunningTurn" });
  expect(host.sessions).toHaveLength(0);
  const answer = editor.agent.request<PromptResponse>("session/prompt", { sessionId, prompt: prompt("go") });
  await until(() => editor.updates.length > 0);
  expect(await steer("promptRequired")).toEqual({ outcome: "injected" });
  // An editor shows its own words itself.
  expect(editor.updates.some(({ update }) => update.sessionUpdate === "user_message_chunk")).toBe(false);
  await editor.agent.notify("session/cancel", { sessionId });
  expect((await answer).stopReason).toBe("cancelled");
  expect(await steer()).toEqual({ outcome: "startedNewTurn" });
  await until(() => host.sessions.length === 2);
  expect(host.sessions[1]!.request.prompt).toBe("slower");
  await expect(editor.agent.request("_session/steering", { prompt: [] })).rejects.toMatchObject({ code: -32602 });
});

test("serveAcp forks a conversation: the new one knows it, and both go on by themselves", async () => {
  const host = new ScriptedHost(async (session) => {
    if (session.request.prompt !== "") {
      session.emit({ type: "output", stream: "stdout", data: `I heard ${session.request.prompt}. ` });
    }
  });
  await using editor = connectClient({ sessions: host });
  await editor.initialize();
  const fork = (params: object) =>
    editor.agent.request<{ sessionId: string; modes: { currentModeId: string } }>("session/fork", {
      cwd: workdir,
      mcpServers: [],
      ...params,
    });
  const { sessionId } = await editor.agent.request("session/new", { cwd: workdir, mcpServers: [] });
  await editor.agent.request("session/set_mode", { sessionId, modeId: "beta" });
  // Before its first prompt there is nothing to know.
  const empty = await fork({ sessionId });
  expect(empty).toMatchObject({ sessionId: expect.not.stringMatching(sessionId), modes: { currentModeId: "beta" } });
  expect(host.sessions).toHaveLength(0);
  await editor.agent.request("session/prompt", { sessionId, prompt: prompt("one") });
  const before = editor.updates.length;
  const forked = await fork({ sessionId });
  expect(forked.modes.currentModeId).toBe("beta");
  expect(forked.sessionId).toBe(host.sessions[1]!.id);
  // The client has seen what was said.
  expect(editor.updates.slice(before).filter((one) => one.sessionId === forked.sessionId)).toEqual([]);
  await editor.agent.request("session/prompt", { sessionId: forked.sessionId, prompt: prompt("the other way") });
  await editor.agent.request("session/prompt", { sessionId, prompt: prompt("two") });
  expect(host.sessions.map(({ conversation, request }) => [conversation, request.prompt])).toEqual([
    [host.sessions[0]!.id, "one"],
    [forked.sessionId, ""],
    [forked.sessionId, "the other way"],
    [host.sessions[0]!.id, "two"],
  ]);
  const said = editor.updates.flatMap((one) =>
    one.sessionId === forked.sessionId && one.update.sessionUpdate === "agent_message_chunk" ? [one.update.content] : []
  );
  expect(said).toMatchObject([{ text: "I heard the other way. " }]);
  await expect(fork({ sessionId: "unknown" })).rejects.toMatchObject({ data: { error_type: "not_found" } });
  await expect(fork({ sessionId, cwd: "/elsewhere" })).rejects.toMatchObject({
    data: { error_type: "invalid_request" },
  });
  await expect(fork({ sessionId, mcpServers: [{ name: "x" }] })).rejects.toMatchObject({ code: -32602 });
  expect(host.sessions).toHaveLength(4);
  // A fork is opened again by its id.
  await using later = connectClient({ sessions: host });
  await later.initialize();
  await later.agent.request("session/load", { sessionId: forked.sessionId, cwd: workdir, mcpServers: [] });
  expect(later.said()).toBe("I heard the other way. ");
});

test("serveAcp announces session/fork on the wire", async () => {
  const written: string[] = [];
  async function* input() {
    const params = { protocolVersion: 1, clientCapabilities: {} };
    yield new TextEncoder().encode(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params })}\n`);
    await until(() => written.length > 0);
  }
  await serveAcp({
    sessions: new ScriptedHost(async () => {}),
    wire: { input: input(), write: async (text) => void written.push(text) },
  });
  expect(JSON.parse(written[0]!)).toMatchObject({
    result: { agentCapabilities: { sessionCapabilities: { fork: {}, list: {} } } },
  });
});
