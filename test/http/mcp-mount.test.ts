import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterEach, expect, test } from "vitest";
import type { Scope } from "../../core/http/scopes.ts";
import { createMcpHttp } from "../../core/mcp/http.ts";
import { ScriptedHost } from "../host/scripted-session-host.ts";
import { type OpenDoor, openDoor } from "./door-fixture.ts";

const ends: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function open(): Promise<{ door: OpenDoor; host: ScriptedHost }> {
  const host = new ScriptedHost(async (session) => {
    session.emit({ type: "output", stream: "stdout", data: "over the network" });
    return { confidence: 0.25 };
  });
  const mcp = createMcpHttp();
  const door = await openDoor({ sessions: host, mounts: [{ path: "/mcp", handle: mcp.handle }] });
  ends.push(() => mcp.close());
  return { door, host };
}

async function connect(door: OpenDoor, ...scopes: Scope[]) {
  const client = new Client({ name: "tester", version: "1.0.0" });
  const headers = { authorization: `Bearer ${await door.token(...scopes)}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${door.url}/mcp`), { requestInit: { headers } }));
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
  expect(await reader.call("interrupt_session", { session_id })).toMatchObject({ error_type: "forbidden" });
  expect((await other.call("list_sessions")).data).toMatchObject({ sessions: [] });
  expect((await one.call("list_sessions")).data).toMatchObject({ sessions: [{ session_id }] });
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
