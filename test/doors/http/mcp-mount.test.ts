import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { mkdir, realpath, symlink } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { connectHost } from "../../../core/doors/client/mod.ts";
import type { Limits } from "../../../core/ground/config/limits.ts";
import type { TokenScope } from "../../../core/doors/http/scopes.ts";
import { createMcpHttp } from "../../../core/doors/mcp/http.ts";
import { ScriptedHost } from "../../sessions/host/scripted-session-host.ts";
import { callTasks, startTask, tasksExtension, untilTask, withTasks } from "../mcp/mcp-client.ts";
import { type OpenDoor, openDoor } from "./door-fixture.ts";

const ends: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function open(limits: Partial<Limits> = {}): Promise<{ door: OpenDoor; host: ScriptedHost }> {
  const host = new ScriptedHost(async (session) => {
    session.emit({ type: "output", stream: "stdout", data: "over the network" });
    return { confidence: 0.25 };
  });
  const mcp = createMcpHttp();
  const door = await openDoor({ limits, sessions: host, mounts: [{ path: "/mcp", handle: mcp.handle }] });
  ends.push(() => mcp.close());
  return { door, host };
}

async function connect(door: OpenDoor, ...scopes: TokenScope[]) {
  return await connectWith(door, await door.token(...scopes));
}

async function connectWith(door: OpenDoor, token: string, { tasks = false } = {}) {
  const client = new Client({ name: "tester", version: "1.0.0" }, {
    capabilities: tasks ? { extensions: { [tasksExtension]: {} } } : {},
    versionNegotiation: { mode: tasks ? "auto" : "legacy" },
  });
  const headers = { authorization: `Bearer ${token}` };
  const transport = new StreamableHTTPClientTransport(new URL(`${door.url}/mcp`), { requestInit: { headers } });
  await client.connect(tasks ? withTasks(transport) : transport);
  ends.push(() => client.close());
  const call = async (name: string, args: Record<string, unknown> = {}) =>
    (await client.callTool({ name, arguments: args })).structuredContent as {
      success: boolean;
      error_type?: string;
      data: Record<string, unknown>;
    };
  return { client, call };
}

test("a client with a token runs a session over HTTP", async () => {
  const { door } = await open();
  const { call } = await connect(door, "run");
  expect(await call("run_session", { workdir: "/work", prompt: "go" })).toMatchObject({
    success: true,
    data: { state: "ended", outcome: "completed" },
    confidence: 0.25,
    provenance: { adapter_id: "alpha" },
  });
});

test("a token's scopes hold over this protocol as over the API", async () => {
  const { door } = await open();
  const one = await connect(door, "run");
  const other = await connect(door, "run");
  const reader = await connect(door, "read");
  const { data: { session_id } } = await one.call("run_session", { workdir: "/work", prompt: "go" });
  expect(await reader.call("run_session", { workdir: "/work", prompt: "go" })).toMatchObject({
    error_type: "forbidden",
  });
  expect(await other.call("read_session", { session_id })).toMatchObject({ error_type: "not_found" });
  expect(await reader.call("read_session", { session_id })).toMatchObject({ success: true });
  for (const tool of ["interrupt_session", "delete_session"]) {
    expect(await reader.call(tool, { session_id })).toMatchObject({ error_type: "forbidden" });
  }
  for (const tool of ["diff_session", "delete_session"]) {
    expect(await other.call(tool, { session_id })).toMatchObject({ error_type: "not_found" });
  }
  expect((await other.call("list_sessions")).data).toMatchObject({ sessions: [] });
  expect((await one.call("list_sessions")).data).toMatchObject({ sessions: [{ session_id }] });
});

test("a task is seen and acted on by the tokens that may do so with its session", async () => {
  const host = new ScriptedHost(async (session) => {
    await session.ask({ type: "question", request_id: "q", question: "Which?" });
  });
  const mcp = createMcpHttp();
  const door = await openDoor({ sessions: host, mounts: [{ path: "/mcp", handle: mcp.handle }] });
  ends.push(() => mcp.close());
  const tasksOf = async (...scopes: TokenScope[]) =>
    (await connectWith(door, await door.token(...scopes), { tasks: true })).client;
  const [own, other, reader] = [await tasksOf("run"), await tasksOf("run"), await tasksOf("read", "run")];
  const { taskId } = await startTask(own, { workdir: "/work", prompt: "go" });
  await expect.poll(() => host.sessions[0]!.waiting).toEqual(["q"]);
  const inputResponses = { q: { action: "accept", content: { answer: "this" } } };
  for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
    const refused = callTasks(other, method, { taskId, inputResponses });
    await expect(refused).rejects.toMatchObject({ code: -32602, data: { taskId, error_type: "not_found" } });
  }
  expect(await callTasks(reader, "tasks/get", { taskId })).toMatchObject({ status: "working" });
  for (const method of ["tasks/update", "tasks/cancel"]) {
    const refused = callTasks(reader, method, { taskId, inputResponses });
    await expect(refused).rejects.toMatchObject({ code: -32602, data: { taskId, error_type: "forbidden" } });
  }
  expect(host.sessions[0]!.waiting).toEqual(["q"]);
  await callTasks(own, "tasks/update", { taskId, inputResponses });
  expect(await untilTask(own, { taskId, status: "working" })).toMatchObject({ status: "completed" });
});

test("nobody but the operator puts a session into an editor's conversation, over the API or this protocol", async () => {
  const { door, host } = await open();
  const client = await door.client("read", "run");
  const { call } = await connect(door, "read", "run");
  const planted = { workdir: "/work", prompt: "Do as I say", labels: { door: "acp", acp_session: "known" } };
  await expect(client.start(planted)).rejects.toMatchObject({ code: "forbidden" });
  expect(await call("run_session", planted)).toMatchObject({ error_type: "forbidden" });
  expect(host.sessions).toEqual([]);
  for (const own of [await door.client(), await door.client("admin")]) await own.start(planted);
  await client.start({ ...planted, labels: { team: "acp" } });
  expect(host.sessions).toHaveLength(3);
});

test("a token for some folders starts sessions there and below, over the API and this protocol, by no link elsewhere", async () => {
  const { door, host } = await open();
  const own = join(await realpath(door.folder), "own");
  await mkdir(join(own, "below"), { recursive: true });
  await mkdir(`${own}-not`);
  await symlink("/", join(own, "out"));
  await symlink("below", join(own, "in"));
  const { token } = await door.tokens.create({ name: "ci", scopes: ["run"], workdirs: [own] });
  const api = connectHost({ url: door.url, token, patienceMs: 10_000 });
  const { call } = await connectWith(door, token);
  for (const workdir of ["/", `${own}-not`, join(own, ".."), join(own, "out"), join(own, "none")]) {
    await expect(api.start({ workdir, prompt: "go" }), workdir).rejects.toMatchObject({ code: "forbidden" });
    expect(await call("run_session", { workdir, prompt: "go" })).toMatchObject({ error_type: "forbidden" });
  }
  expect(host.sessions).toEqual([]);
  for (const workdir of [own, join(own, "below")]) await api.start({ workdir, prompt: "go" });
  // What was looked at is what is worked in.
  const { data } = await call("run_session", { workdir: join(own, "in"), prompt: "go" });
  expect((await host.get(String(data["session_id"]))).workdir).toBe(join(own, "below"));
});

test("a token that only runs finds its own sessions, however many others there are since", async () => {
  const { door, host } = await open();
  const { call } = await connect(door, "run");
  const own = [];
  for (let count = 0; count < 3; count++) {
    own.unshift((await call("run_session", { workdir: "/work", prompt: "go" })).data["session_id"]);
  }
  for (let count = 0; count < 30; count++) await host.start({ workdir: "/work", prompt: "go" });
  const found: unknown[] = [];
  let before: unknown = null;
  do {
    const { data } = await call("list_sessions", { limit: 2, ...(before === null ? {} : { before }) });
    found.push(...(data["sessions"] as { session_id: string }[]).map(({ session_id }) => session_id));
    before = data["next_before"];
  } while (before !== null);
  expect(found).toEqual(own);
});

test("without a token, with a wrong one and under another name nothing is served", async () => {
  const { door } = await open();
  const send = async (headers: Record<string, string>) => {
    const response = await fetch(`${door.url}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
    });
    await response.body?.cancel();
    return response.status;
  };
  expect(await send({})).toBe(401);
  expect(await send({ authorization: "Bearer none" })).toBe(401);
  const authorization = `Bearer ${await door.token("run")}`;
  expect(await send({ authorization, origin: "https://evil.example" })).toBe(403);
  expect(await send({ authorization })).toBe(400);
});

test("a connection's stream counts as one of its token's, and ends when the token does", async () => {
  const { door } = await open({ http_streams_per_token: 1 });
  const token = await door.token("read");
  const send = async (more: Record<string, string>, body?: unknown) => {
    const headers = { authorization: `Bearer ${token}`, accept: "application/json, text/event-stream", ...more };
    if (body === undefined) return await fetch(`${door.url}/mcp`, { headers });
    const typed = { ...headers, "content-type": "application/json" };
    return await fetch(`${door.url}/mcp`, { method: "POST", headers: typed, body: JSON.stringify(body) });
  };
  const clientInfo = { name: "tester", version: "1.0.0" };
  const begun = [];
  for (let count = 0; count < 2; count++) {
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    const response = await send({}, { jsonrpc: "2.0", id: 1, method: "initialize", params });
    await response.text();
    begun.push({ "mcp-session-id": response.headers.get("mcp-session-id")! });
  }
  const stream = await send(begun[0]!);
  expect(stream.status).toBe(200);
  const refused = await send(begun[1]!);
  expect([refused.status, await refused.json()]).toMatchObject([429, { details: { limit: "http_streams_per_token" } }]);
  await door.tokens.revoke((await door.tokens.list())[0]!.id);
  await stream.text();
  expect(await (await door.client()).ready()).toBe(true);
});
