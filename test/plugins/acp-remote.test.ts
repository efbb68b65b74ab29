import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { agent, type AgentApp, type AgentContext, RequestError } from "@agentclientprotocol/sdk";
import { createNodeHttpHandler } from "@agentclientprotocol/sdk/experimental/node";
import { AcpServer } from "@agentclientprotocol/sdk/experimental/server";
import { afterEach, expect, test } from "vitest";
import { storeSecret } from "../../core/secrets/store.ts";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";
import type { Permissions } from "../../plugin-sdk/permissions.ts";
import type { SessionRequest } from "../../plugin-sdk/request.ts";
import type { SessionResult } from "../../plugin-sdk/result.ts";
import { hostManifest, openHost, type TestHost } from "../host/test-host.ts";
import { printed } from "./recorded-lines.ts";

const plugins = fileURLToPath(new URL("../../plugins/", import.meta.url));
const sessionId = "session-1";
const roots: string[] = [];
const servers: { http: Server; acp: AcpServer }[] = [];

afterEach(async () => {
  for (const { http, acp } of servers.splice(0)) {
    await acp.close();
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  }
  for (const root of roots.splice(0)) await rm(root, { recursive: true });
});

/** What the agent saw, beside its answers. */
interface Seen {
  tokens: (string | undefined)[];
  methods: string[];
  cancelled: boolean;
}

async function turn(client: AgentContext, { prompt, cancelled }: { prompt: string; cancelled: Promise<void> }) {
  const say = (text: string) =>
    client.notify("session/update", {
      sessionId,
      update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } },
    });
  if (prompt.includes("limited")) throw new RequestError(429, "Rate limit reached. Try again in 3 seconds.");
  if (prompt.includes("stay")) {
    await say("waiting");
    await cancelled;
    return { stopReason: "cancelled" } as const;
  }
  if (prompt.includes("many")) { for (let round = 0; round < 500; round++) await say("0123456789"); }
  if (!prompt.includes("ask")) await say("done");
  else {
    const { outcome } = await client.request("session/request_permission", {
      sessionId,
      toolCall: { toolCallId: "call-1", title: "Write it", kind: "edit" },
      options: [{ optionId: "yes", name: "Yes", kind: "allow_once" }],
    });
    const { content } = await client.request("fs/read_text_file", { sessionId, path: "missing.txt" })
      .catch((error: unknown) => ({ content: error instanceof RequestError ? `error ${error.code}` : "?" }));
    await say(`${outcome.outcome}, ${content}`);
  }
  return { stopReason: "end_turn" } as const;
}

function remoteAgent(seen: Seen): AgentApp {
  let cancel = () => {};
  const cancelled = new Promise<void>((resolve) => cancel = resolve);
  return agent({ name: "remote" })
    .onRequest("initialize", () => ({ protocolVersion: 1, agentInfo: { name: "remote", version: "3.2.1" } }))
    .onRequest("session/new", () => ({ sessionId }))
    .onNotification("session/cancel", () => {
      seen.cancelled = true;
      cancel();
    })
    .onRequest("session/prompt", ({ params, client }) => {
      const [block] = params.prompt;
      return turn(client, { prompt: block?.type === "text" ? block.text : "", cancelled });
    });
}

interface RemoteOptions {
  /** What the agent wants. */
  token?: string;
  /** What the host's secret holds. */
  stored?: string;
  grant?: (target: string) => Permissions;
  /** Lines of the host manifest. */
  manifest?: string;
}

/** Serves the agent on loopback and opens a host whose `acp` plugin reaches it, with that grant and no other. */
async function openRemote(
  { token, stored = "a-token-of-the-test", grant, manifest = "" }: RemoteOptions = {},
): Promise<{ made: TestHost; seen: Seen; run(request: Partial<SessionRequest>): Promise<Ran> }> {
  const seen: Seen = { tokens: [], methods: [], cancelled: false };
  const acp = new AcpServer({ createAgent: () => remoteAgent(seen) });
  const handle = createNodeHttpHandler(acp);
  const http = createServer((request, response) => {
    seen.tokens.push(request.headers.authorization);
    seen.methods.push(request.method ?? "");
    if (token !== undefined && request.headers.authorization !== `Bearer ${token}`) {
      response.writeHead(401).end(JSON.stringify({ message: "who are you" }));
    } else handle(request, response);
  });
  servers.push({ http, acp });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const target = `127.0.0.1:${(http.address() as AddressInfo).port}`;
  const root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-acp-")));
  roots.push(root);
  const secretsFile = join(root, "secrets", "secrets.json");
  await storeSecret(secretsFile, { name: "ACP_TEST_TOKEN", value: stored });
  const made = await openHost({ bundledDir: plugins, secretsFile, ...await hostManifest(manifest) });
  await made.host.registry.register(`${plugins}acp`, {
    grant: grant?.(target) ?? { net: [target], read: ["workdir"] },
    config: { url: `http://${target}/acp`, files: true, ...(token === undefined ? {} : { secret: "ACP_TEST_TOKEN" }) },
  });
  return {
    made,
    seen,
    async run(request) {
      const { events, result } = await made.run("acp", request);
      const said = events.filter(({ source }) => source === "agent").map(({ event }) => event as AdapterEvent);
      return { events: said, result };
    },
  };
}

interface Ran {
  events: AdapterEvent[];
  result: SessionResult;
}

test("a session with an agent that runs elsewhere, by HTTP through the broker", async () => {
  const remote = await openRemote();
  const { events, result } = await remote.run({ prompt: "go" });
  expect(result).toMatchObject({ outcome: "completed", stop_reason: "end_turn", output: "done" });
  expect(events.map(({ type }) => type)).toEqual(["agent_info", "output", "completed"]);
  expect(events[0]).toMatchObject({ agent_session_id: sessionId, agent_version: "3.2.1" });
  // One message each for the greeting, the session and the prompt; a stream each for connection and session. The last
  // word of all may arrive after the session's end.
  await expect.poll(() => remote.seen.methods.toSorted(), { timeout: 20_000 })
    .toEqual(["DELETE", "GET", "GET", "POST", "POST", "POST"]);
});

test("what such an agent asks is answered: a permission, and a file that the broker looks for", async () => {
  const remote = await openRemote();
  const { result } = await remote.run({ prompt: "ask", approval: "all" });
  expect(result).toMatchObject({ outcome: "completed", output: "selected, error -32002" });
});

test("many updates of such an agent arrive whole and in order", async () => {
  const remote = await openRemote();
  const { events } = await remote.run({ prompt: "many" });
  expect(printed(events)).toBe(`${"0123456789".repeat(500)}done`);
});

test("its token is a secret that goes nowhere else", async () => {
  const remote = await openRemote({
    token: "a-token-of-the-test",
    grant: (target) => ({ net: [target], secrets: [{ name: "ACP_TEST_TOKEN" }] }),
  });
  const { result } = await remote.run({ prompt: "go" });
  expect(result.error).toBe(undefined);
  expect(new Set(remote.seen.tokens)).toEqual(new Set(["Bearer a-token-of-the-test"]));
});

test("an agent that wants another token is unavailable", async () => {
  const remote = await openRemote({
    token: "a-token-of-the-test",
    stored: "wrong-token-of-the-test",
    grant: (target) => ({ net: [target], secrets: [{ name: "ACP_TEST_TOKEN" }] }),
  });
  const { result } = await remote.run({ prompt: "go" });
  expect(result).toMatchObject({ outcome: "error", stop_reason: "unavailable" });
  expect(result.error?.message).toContain("status 401: who are you");
});

test("without the grant of its address nothing is sent", async () => {
  const remote = await openRemote({ grant: () => ({ net: ["127.0.0.1:1"] }) });
  const { result } = await remote.run({ prompt: "go" });
  expect(result).toMatchObject({ outcome: "error", error: { code: "permission_denied" } });
  expect(remote.seen.methods).toEqual([]);
});

test("an interrupt is told to an agent elsewhere as well", async () => {
  const { made, seen } = await openRemote();
  const session = await made.host.runSession({ workdir: made.workdir, prompt: "stay" }, { adapter: "acp" });
  for await (const { event } of session) if (event.type === "output") void session.interrupt();
  expect(await session.result).toMatchObject({ stop_reason: "interrupted" });
  expect(seen.cancelled).toBe(true);
});

test("a rate limit of an agent elsewhere says how long to wait", async () => {
  const { run } = await openRemote();
  const { events, result } = await run({ prompt: "limited" });
  expect(events).toContainEqual(expect.objectContaining({ type: "rate_limit", wait_ms: 3000 }));
  expect(result).toMatchObject({ stop_reason: "rate_limit" });
});

test("an agent elsewhere is given no MCP servers", async () => {
  const { run, seen } = await openRemote({ manifest: "mcp_servers:\n  files: { command: files-server }\n" });
  const { result } = await run({ prompt: "go", mcp_servers: ["files"] });
  expect(result.error).toMatchObject({ code: "unsupported" });
  expect(seen.methods).toEqual([]);
});

test("the probe greets an agent elsewhere", async () => {
  const { made } = await openRemote();
  const reports = await made.host.agents();
  expect(reports.find(({ id }) => id === "acp")).toMatchObject({ availability: "available", agent_version: "3.2.1" });
});

test("something else at that address is no agent", async () => {
  const http = createServer((_request, response) => void response.end("{}"));
  servers.push({ http, acp: new AcpServer({ createAgent: () => agent() }) });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const target = `127.0.0.1:${(http.address() as AddressInfo).port}`;
  const made = await openHost({ bundledDir: plugins });
  await made.host.registry.register(`${plugins}acp`, { grant: { net: [target] }, config: { url: `http://${target}` } });
  const { result } = await made.run("acp");
  expect(result).toMatchObject({ outcome: "error", stop_reason: "unavailable" });
  expect(result.error?.message).toContain("does not speak the Agent Client Protocol");
});
