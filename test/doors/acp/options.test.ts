import type { ClientCapabilities, NewSessionResponse, SessionNotification } from "@agentclientprotocol/sdk";
import { expect, test } from "vitest";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { ScriptedHost } from "../../sessions/host/scripted-session-host.ts";
import { until } from "../../sessions/host/test-host.ts";
import { fakeAgent } from "../cli/fake-host.ts";
import { connectClient, type TestClient } from "./acp-client.ts";

const workdir = "/work/project";
const prompt = (text: string) => [{ type: "text" as const, text }];

/** A host whose second agent has models. */
function hostWithModels(script: ConstructorParameters<typeof ScriptedHost>[0] = async () => {}): ScriptedHost {
  const host = new ScriptedHost(script);
  host.agentReports = [fakeAgent("alpha", { primary: true }), fakeAgent("beta", { models: ["big", "small"] })];
  return host;
}

async function begin(editor: TestClient) {
  await editor.initialize();
  return await editor.agent.request("session/new", { cwd: workdir, mcpServers: [] });
}

const set = (editor: TestClient, sessionId: string) => (configId: string, value: string) =>
  editor.agent.request("session/set_config_option", { sessionId, configId, value });

const kinds = (updates: SessionNotification[]) => updates.map(({ update }) => update.sessionUpdate);

test("serveAcp offers agent, model and approval, and the first prompt's session has what was chosen", async () => {
  const host = hostWithModels();
  await using editor = connectClient({ sessions: host, defaults: { approval: "reads" } });
  const { sessionId, configOptions } = await begin(editor);
  expect(configOptions).toMatchObject([
    { id: "agent", category: "mode", currentValue: "auto" },
    { id: "approval", currentValue: "reads" },
  ]);
  const choose = set(editor, sessionId);
  const { configOptions: withAgent } = await choose("agent", "beta");
  expect(withAgent).toMatchObject([
    { id: "agent", currentValue: "beta" },
    { id: "model", category: "model", currentValue: "default", options: [{ value: "default" }, {}, {}] },
    { id: "approval" },
  ]);
  expect(kinds(editor.updates)).toEqual(["current_mode_update"]);
  await choose("model", "small");
  expect((await choose("approval", "edits")).configOptions).toMatchObject([
    { currentValue: "beta" },
    { currentValue: "small" },
    { currentValue: "edits" },
  ]);
  await editor.agent.request("session/prompt", { sessionId, prompt: prompt("go") });
  expect(host.sessions[0]).toMatchObject({ adapter: "beta", request: { model: "small", approval: "edits" } });
});

test("serveAcp gives an option that changes in mid-talk as terms of the next message, and only then", async () => {
  const host = hostWithModels();
  const given: unknown[] = [];
  const say = host.conversations.say.bind(host.conversations);
  host.conversations.say = (id, message, caller) => {
    given.push(message.with);
    return say(id, message, caller);
  };
  await using editor = connectClient({ sessions: host });
  const { sessionId } = await begin(editor);
  const ask = () => editor.agent.request("session/prompt", { sessionId, prompt: prompt("go") });
  await ask();
  await ask();
  const choose = set(editor, sessionId);
  await editor.agent.request("session/set_mode", { sessionId, modeId: "beta" });
  expect(kinds(editor.updates)).toContain("config_option_update");
  await choose("model", "big");
  await choose("approval", "deny");
  await ask();
  expect(given).toEqual([undefined, { agent: "beta", model: "big", approval: "deny" }]);
  // Another agent has other models.
  const { configOptions } = await choose("agent", "alpha");
  expect(configOptions.map(({ id }) => id)).toEqual(["agent", "approval"]);
});

test("serveAcp refuses an option and a value that it does not offer", async () => {
  const host = hostWithModels();
  await using editor = connectClient({ sessions: host });
  const { sessionId } = await begin(editor);
  const choose = set(editor, sessionId);
  await expect(choose("colour", "red")).rejects.toThrow('Cannot set the option "colour"');
  await expect(choose("approval", "never")).rejects.toMatchObject({ data: { error_type: "invalid_request" } });
  await expect(choose("agent", "gamma")).rejects.toMatchObject({ data: { error_type: "unknown_adapter" } });
  await expect(editor.agent.request("session/prompt", { sessionId, prompt: prompt(" ") })).rejects.toThrow(
    "it is empty",
  );
  expect(host.sessions).toHaveLength(0);
});

test("serveAcp resumes a conversation that still runs without showing what was said before", async () => {
  let go = () => {};
  const told = new Promise<void>((resolve) => (go = resolve));
  const host = new ScriptedHost(async (session) => {
    session.emit({ type: "output", stream: "stdout", data: "Before. " });
    await told;
    session.emit({ type: "output", stream: "stdout", data: "After." });
  });
  await using first = connectClient({ sessions: host });
  const { sessionId } = await begin(first);
  const answer = first.agent.request("session/prompt", { sessionId, prompt: prompt("go") });
  await until(() => first.said() === "Before. ");
  await using second = connectClient({ sessions: host });
  await second.initialize();
  const { configOptions } = await second.agent.request("session/resume", { sessionId, cwd: workdir });
  expect(configOptions).toMatchObject([{ id: "agent" }, { id: "approval" }]);
  expect(second.updates).toEqual([]);
  go();
  await answer;
  await until(() => second.said() === "After.");
  await second.agent.request("session/prompt", { sessionId, prompt: prompt("more") });
  expect(second.said()).toBe("After.Before. After.");
  await expect(second.agent.request("session/resume", { sessionId: "none", cwd: workdir })).rejects.toMatchObject({
    data: { error_type: "not_found" },
  });
});

test("serveAcp deletes a conversation with its sessions, ending its own, and one that never was", async () => {
  const host = new ScriptedHost(async (session) => {
    if (session.request.prompt === "stay") {
      await new Promise((resolve) => session.signal.addEventListener("abort", resolve, { once: true }));
    }
  });
  await using editor = connectClient({ sessions: host });
  const { sessionId } = await begin(editor);
  await editor.agent.request("session/prompt", { sessionId, prompt: prompt("one") });
  const stay = editor.agent.request("session/prompt", { sessionId, prompt: prompt("stay") });
  await until(() => host.sessions.length === 2);
  expect(await editor.agent.request("session/delete", { sessionId })).toEqual({});
  expect(await stay).toMatchObject({ stopReason: "cancelled" });
  expect(host.sessions).toEqual([]);
  expect((await editor.agent.request("session/list", {})).sessions).toEqual([]);
  expect(await editor.agent.request("session/delete", { sessionId: "never-was" })).toEqual({});
});

/** Works on "stay" until it is stopped, and then says that all is done. */
function stays(): ScriptedHost {
  return new ScriptedHost(async (session) => {
    if (session.request.prompt !== "stay") return;
    await new Promise((resolve) => session.signal.addEventListener("abort", resolve, { once: true }));
  });
}

test.each(["session/load", "session/resume"] as const)(
  "serveAcp goes on with what runs at a further %s",
  async (method) => {
    const host = stays();
    await using editor = connectClient({ sessions: host });
    const { sessionId } = await begin(editor);
    const stay = editor.agent.request("session/prompt", { sessionId, prompt: prompt("stay") });
    await until(() => host.sessions.length === 1);
    const again = (cwd: string) => editor.agent.request(method, { sessionId, cwd, mcpServers: [] });
    await expect(again("no/path")).rejects.toThrow("not absolute");
    await again(workdir);
    expect(host.sessions[0]!.signal.aborted).toBe(false);
    expect(await stay).toMatchObject({ stopReason: "cancelled" });
    // It is still this client's, and ends with it.
    expect(await editor.agent.request("session/close", { sessionId })).toEqual({});
    await until(() => host.sessions[0]!.signal.aborted);
  },
);

test("serveAcp answers a prompt that the client cancels as cancelled, also where the agent ends it in order", async () => {
  let finish = () => {};
  const host = new ScriptedHost((session) => {
    return session.request.prompt === "go" ? new Promise<void>((resolve) => (finish = resolve)) : Promise.resolve();
  });
  host.conversations.stop = () => Promise.resolve(finish());
  await using editor = connectClient({ sessions: host });
  const { sessionId } = await begin(editor);
  const ask = (text: string) => editor.agent.request("session/prompt", { sessionId, prompt: prompt(text) });
  const answer = ask("go");
  await until(() => host.sessions.length === 1);
  await editor.agent.notify("session/cancel", { sessionId });
  expect(await answer).toMatchObject({ stopReason: "cancelled", _meta: { bulkhead: { stop_reason: "end_turn" } } });
  expect(await ask("more")).toMatchObject({ stopReason: "end_turn" });
});

test("serveAcp keeps a conversation open whose sessions cannot be deleted", async () => {
  const host = new ScriptedHost(async () => {});
  await using editor = connectClient({ sessions: host });
  const { sessionId } = await begin(editor);
  await editor.agent.request("session/prompt", { sessionId, prompt: prompt("one") });
  host.delete = () => Promise.reject(new BulkheadError("busy", "It is still running."));
  await expect(editor.agent.request("session/delete", { sessionId })).rejects.toThrow("still running");
  expect(await editor.agent.request("session/prompt", { sessionId, prompt: prompt("two") })).toMatchObject({
    stopReason: "end_turn",
  });
});

test("serveAcp tells a conversation's title and the time of its last word", async () => {
  const host = new ScriptedHost(async () => {});
  await using editor = connectClient({ sessions: host });
  const { sessionId } = await begin(editor);
  await editor.agent.request("session/prompt", { sessionId, prompt: prompt("Fix the\nparser") });
  const infos = editor.updates.flatMap(({ update }) => update.sessionUpdate === "session_info_update" ? [update] : []);
  expect(infos.find(({ title }) => title != null)).toMatchObject({ title: "Fix the parser" });
  expect(infos.at(-1)).toMatchObject({ updatedAt: expect.stringMatching(/^\d{4}-.*Z$/) });
});

test("serveAcp offers its terminal method to a client that can run one, and to no other", async () => {
  const sessions = new ScriptedHost(async () => {});
  const methodsFor = async (clientCapabilities: ClientCapabilities, setupArgs: string[] | undefined = ["--setup"]) => {
    await using editor = connectClient({ sessions, setupArgs });
    const answer = await editor.agent.request("initialize", { protocolVersion: 1, clientCapabilities });
    return answer.authMethods;
  };
  const method = { type: "terminal", id: "setup", args: ["--setup"] };
  expect(await methodsFor({ auth: { terminal: true } })).toMatchObject([method]);
  expect(await methodsFor({ _meta: { "terminal-auth": true } })).toMatchObject([method]);
  expect(await methodsFor({})).toEqual([]);
});

test("serveAcp ends at a logout what its client began, and takes nothing more on this connection", async () => {
  const host = new ScriptedHost(async (session) => {
    await new Promise((resolve) => session.signal.addEventListener("abort", resolve, { once: true }));
  });
  await using editor = connectClient({ sessions: host });
  const { sessionId } = await begin(editor);
  const answer = editor.agent.request("session/prompt", { sessionId, prompt: prompt("go") });
  await until(() => host.sessions.length === 1);
  expect(await editor.agent.request("logout", {})).toEqual({});
  expect(await answer).toMatchObject({ stopReason: "cancelled" });
  expect(host.sessions[0]!.ended?.stop_reason).toBe("interrupted");
  const place = { cwd: workdir, mcpServers: [] };
  const refused: Record<string, object> = {
    "session/new": place,
    "session/load": { sessionId, ...place },
    "session/resume": { sessionId, ...place },
    "session/fork": { sessionId, ...place },
    "session/list": {},
    "session/prompt": { sessionId, prompt: prompt("go") },
    "session/set_mode": { sessionId, modeId: "auto" },
    "session/set_config_option": { sessionId, configId: "agent", value: "auto" },
    "session/close": { sessionId },
    "session/delete": { sessionId },
    "_session/steering": { sessionId, prompt: prompt("go") },
  };
  for (const [method, params] of Object.entries(refused)) {
    await expect(editor.agent.request(method, params), method).rejects.toMatchObject({ code: -32000 });
  }
  expect(await editor.agent.request("logout", {})).toEqual({});
  expect(host.sessions).toHaveLength(1);
});

test("serveAcp uses an editor's MCP server only as the operator registered it", async () => {
  const host = new ScriptedHost(async () => {});
  const registered = {
    files: { command: "files-server", args: ["--root", "."] },
    web: { url: "https://a.example/mcp" },
  };
  await using editor = connectClient({ sessions: host, mcpServers: async () => registered }, { notices: true });
  await editor.initialize();
  const env = [{ name: "TOKEN", value: "of the editor" }];
  const { sessionId } = await editor.agent.request<NewSessionResponse>("session/new", {
    cwd: workdir,
    mcpServers: [
      { name: "files", command: "files-server", args: ["--root", "."], env },
      { type: "http", name: "web", url: "https://other.example/mcp", headers: [] },
      { name: "own", command: "own-server", args: [], env },
    ],
  });
  await editor.agent.request("session/prompt", { sessionId, prompt: prompt("go") });
  expect(host.sessions[0]!.request.mcp_servers).toEqual(["files"]);
  const said = JSON.stringify(editor.updates);
  expect(said).toContain("not used (web, own)");
  expect(said).toContain("own-server");
  expect(said).not.toContain("of the editor");
});
