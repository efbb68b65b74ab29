import { describe, expect, test, vi } from "vitest";
import type { SessionHost } from "../../../core/sessions/host/session-host.ts";
import { createMcpHttp, type McpHttp } from "../../../core/doors/mcp/http.ts";
import { serveMcp } from "../../../core/doors/mcp/serve-mcp.ts";
import { ScriptedHost } from "../../sessions/host/scripted-session-host.ts";
import { until } from "../../sessions/host/test-host.ts";
import { connectOverHttp, noWorkspaces } from "./mcp-client.ts";

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "tester", version: "1.0.0" } },
};

test("serveMcp answers what is no message with an error of the protocol, and serves the next one", async () => {
  const written: { id: unknown; error?: { code: number }; result?: unknown }[] = [];
  async function* input() {
    const lines = [
      "{",
      '"text"',
      "[]",
      "x".repeat(3000),
      { jsonrpc: "1.0", id: 8, method: "ping" },
      { jsonrpc: "2.0", id: 9, method: "tools/list" },
      { jsonrpc: "2.0", id: 77, result: {} },
      initialize,
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", id: 2, method: "no/such" },
      { jsonrpc: "2.0", id: 3, method: "tools/call", params: { name: 7 } },
      { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 99 } },
      JSON.stringify({ jsonrpc: "2.0", id: 5, method: "ping", params: { deep: 0 } }).replace("0}", "[".repeat(40)),
      { jsonrpc: "2.0", id: 4, method: "ping" },
    ];
    for (const line of lines) {
      yield new TextEncoder().encode(`${typeof line === "string" ? line : JSON.stringify(line)}\n`);
    }
    yield new Uint8Array([0xff, 0xfe, 0x0a]);
    await until(() => written.some(({ id }) => id === 4));
  }
  await serveMcp({
    sessions: new ScriptedHost(async () => {}),
    workspaces: noWorkspaces,
    bounds: { message_bytes: 2000, message_depth: 16 },
    wire: { input: input(), write: async (text) => void written.push(JSON.parse(text)) },
  });
  const codes = (id: unknown) => written.filter((one) => one.id === id).map(({ error }) => error?.code);
  expect(codes(null).sort()).toEqual([-32600, -32600, -32600, -32700, -32700, -32700]);
  expect(codes(8)).toEqual([-32600]);
  expect(codes(2)).toEqual([-32601]);
  expect(codes(3)).toEqual([-32602]);
  expect(written.find(({ id }) => id === 1)?.result).toMatchObject({ serverInfo: { name: "bulkhead" } });
  expect(written.find(({ id }) => id === 4)?.result).toEqual({});
});

test("serveMcp interrupts what runs when the client goes away", async () => {
  const host = new ScriptedHost(async (session) => {
    await new Promise((resolve) => session.signal.addEventListener("abort", resolve, { once: true }));
  });
  async function* input() {
    const call = { name: "run_session", arguments: { workdir: "/work", prompt: "go" } };
    for (const message of [initialize, { jsonrpc: "2.0", id: 2, method: "tools/call", params: call }]) {
      yield new TextEncoder().encode(`${JSON.stringify(message)}\n`);
    }
    await until(() => host.sessions.length === 1);
  }
  await serveMcp({ sessions: host, workspaces: noWorkspaces, wire: { input: input(), write: async () => {} } });
  await until(() => host.sessions[0]!.ended !== null);
  expect(host.sessions[0]!.ended!.stop_reason).toBe("interrupted");
});

test("createMcpHttp keeps a connection to the caller that opened it", async () => {
  const host = new ScriptedHost(async () => {});
  await using tester = await connectOverHttp({ sessions: host }, { caller: "one" });
  await tester.client.listTools();
  const { sessionId } = tester.client.transport!;
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-session-id": sessionId!,
  };
  const ping = (client: string) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 5, method: "ping" });
    return tester.http.handle(new Request("http://localhost/mcp", { method: "POST", headers, body }), {
      client,
      sessions: host,
      workspaces: noWorkspaces,
    });
  };
  expect((await ping("one")).status).toBe(200);
  expect((await ping("two")).status).toBe(404);
});

describe("createMcpHttp with many connections", () => {
  const open = async (http: McpHttp, client: string, sessions: SessionHost) => {
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const request = new Request("http://localhost/mcp", { method: "POST", headers, body: JSON.stringify(initialize) });
    const response = await http.handle(request, { client, sessions, workspaces: noWorkspaces });
    await response.body?.cancel();
    return response.status;
  };
  const working = async () => {
    const host = new ScriptedHost(async (session) => {
      await new Promise((resolve) => session.signal.addEventListener("abort", resolve, { once: true }));
    });
    const tester = await connectOverHttp({ sessions: host }, { caller: "one" });
    const call = tester.client.callTool({ name: "run_session", arguments: { workdir: "/work", prompt: "go" } });
    call.catch(() => {});
    await until(() => host.sessions.length === 1);
    return { host, tester };
  };

  test("ends none of another caller's, and refuses beyond the most", async () => {
    const { host, tester } = await working();
    await using _ = tester;
    for (let number = 0; number < 40; number++) expect(await open(tester.http, "two", host)).toBe(200);
    const statuses = new Set<number>();
    for (let number = 0; number < 300; number++) statuses.add(await open(tester.http, `many-${number}`, host));
    expect([...statuses]).toEqual([200, 503]);
    expect(host.sessions[0]!.ended).toBeNull();
    // Of its own, the one that works is the last to go.
    for (let number = 0; number < 40; number++) await open(tester.http, "one", host);
    expect(host.sessions[0]!.ended).toBeNull();
  });

  test("ends none that waits for a call, however long that takes, and those that are silent", async () => {
    const { host, tester } = await working();
    await using _ = tester;
    await using silent = await connectOverHttp({ sessions: host }, { caller: "one" });
    vi.spyOn(performance, "now").mockReturnValue(performance.now() + 3_600_000);
    try {
      expect(await open(tester.http, "two", host)).toBe(200);
      expect(await open(silent.http, "two", host)).toBe(200);
    } finally {
      vi.restoreAllMocks();
    }
    expect(host.sessions[0]!.ended).toBeNull();
    await expect(silent.client.ping()).rejects.toThrow(/no such connection/);
  });
});

test("createMcpHttp names the caller to the host", async () => {
  const host = new ScriptedHost(async () => {});
  for (const era of ["legacy", "auto"] as const) {
    await using tester = await connectOverHttp({ sessions: host }, { caller: "one", era });
    await tester.client.callTool({ name: "run_session", arguments: { workdir: "/work", prompt: "go" } });
  }
  expect(host.sessions.map(({ options }) => options.client)).toEqual(["one", "one"]);
});

test("createMcpHttp refuses what is malformed, too large, out of order or for another host", async () => {
  const sessions = new ScriptedHost(async () => {});
  const http = createMcpHttp({
    hostnames: ["localhost"],
    message_bytes: 2000,
  });
  const send = async (body: unknown, headers: Record<string, string> = {}, method = "POST") => {
    const request = new Request("http://localhost/mcp", {
      method,
      headers: {
        host: "localhost",
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
      },
      ...(method === "POST" ? { body: typeof body === "string" ? body : JSON.stringify(body) } : {}),
    });
    const response = await http.handle(request, { client: "one", sessions, workspaces: noWorkspaces });
    await response.body?.cancel();
    return response.status;
  };
  expect(await send("{")).toBe(400);
  expect(await send("x".repeat(3000))).toBe(413);
  expect(await send({ jsonrpc: "2.0", id: 1, method: "tools/list" })).toBe(400);
  expect(await send({ jsonrpc: "2.0", id: 1, method: "tools/list" }, { "mcp-session-id": "none" })).toBe(404);
  expect(await send(null, {}, "GET")).toBe(400);
  expect(await send(null, {}, "PUT")).toBe(405);
  expect(await send(initialize, { "content-type": "text/plain" })).toBe(415);
  expect(await send(initialize, { host: "evil.example" })).toBe(403);
  expect(await send(initialize, { origin: "https://evil.example" })).toBe(403);
  expect(await send(initialize)).toBe(200);
  await http.close();
});
