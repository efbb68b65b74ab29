import { mkdtemp, realpath, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { fileURLToPath } from "node:url";
import { agent, type AgentApp, type AgentContext, RequestError } from "@agentclientprotocol/sdk";
import { createNodeHttpHandler, createNodeWebSocketUpgradeHandler } from "@agentclientprotocol/sdk/experimental/node";
import { AcpServer } from "@agentclientprotocol/sdk/experimental/server";
import { afterEveryTest } from "../clean-up.ts";
import { type WebSocket, WebSocketServer } from "ws";
import { storeSecret } from "../../core/walls/secrets/store.ts";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";
import type { Permissions } from "../../plugin-sdk/permissions.ts";
import type { SessionRequest } from "../../plugin-sdk/request.ts";
import type { SessionResult } from "../../plugin-sdk/result.ts";
import { hostManifest, openHost, type TestHost } from "../sessions/host/test-host.ts";

const plugins = fileURLToPath(new URL("../../plugins/", import.meta.url));

/** The one session that the agent has. */
export const sessionId = "session-1";

/** The two ways to an agent that runs elsewhere. */
export const ways = ["http", "ws"] as const;

/** What the agent saw, beside its answers. */
export interface Seen {
  tokens: (string | undefined)[];
  /** `UPGRADE` for a WebSocket. */
  methods: string[];
  cancelled: boolean;
  sockets: WebSocket[];
  /** Codes that WebSockets were closed with. */
  closes: number[];
}

/** How the agent is served and reached. */
export interface RemoteOptions {
  way?: (typeof ways)[number];
  /** What the agent wants. */
  token?: string;
  /** What the host's secret holds. */
  stored?: string;
  grant?: (target: string) => Permissions;
  /** Lines of the host manifest. */
  manifest?: string;
}

/** What an agent elsewhere said, and what became of the session. */
export interface Ran {
  events: AdapterEvent[];
  result: SessionResult;
}

/** An agent elsewhere, and a host that reaches it. */
export interface Remote {
  made: TestHost;
  seen: Seen;
  run(request: Partial<SessionRequest>): Promise<Ran>;
  /** Cuts every connection, without a word. */
  cut(): void;
}

const roots: string[] = [];
const closers: (() => Promise<void>)[] = [];

afterEveryTest(async () => {
  for (const close of closers.splice(0)) await close();
  for (const root of roots.splice(0)) await rm(root, { recursive: true });
});

/** Serves the agent on loopback and opens a host whose `acp` plugin reaches it, with that grant and no other. */
export async function openRemote(options: RemoteOptions = {}): Promise<Remote> {
  const { way = "http", token, stored = "a-token-of-the-test", grant, manifest = "" } = options;
  const seen: Seen = { tokens: [], methods: [], cancelled: false, sockets: [], closes: [] };
  const { target, cut } = await serveAgent(seen, token);
  const root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-acp-")));
  roots.push(root);
  const secretsFile = join(root, "secrets", "secrets.json");
  await storeSecret(secretsFile, { name: "ACP_TEST_TOKEN", value: stored });
  const made = await openHost({ bundledDir: plugins, secretsFile, ...await hostManifest(manifest) });
  await made.host.registry.register(`${plugins}acp`, {
    grant: grant?.(target) ?? { net: [target], read: ["workdir"] },
    config: {
      url: `${way}://${target}/acp`,
      files: true,
      ...(token === undefined ? {} : { secret: "ACP_TEST_TOKEN" }),
    },
  });
  return {
    made,
    seen,
    cut,
    async run(request) {
      const { events, result } = await made.run("acp", request);
      const said = events.filter(({ source }) => source === "agent").map(({ event }) => event as AdapterEvent);
      return { events: said, result };
    },
  };
}

/** Serves anything on loopback until the test is over. */
export async function serve(
  server: Server,
  end: () => Promise<void> = async () => {},
): Promise<{ target: string; cut(): void }> {
  const streams = new Set<Duplex>();
  server.on("connection", (stream: Duplex) => {
    streams.add(stream);
    stream.on("close", () => streams.delete(stream));
  });
  const cut = () => streams.forEach((stream) => stream.destroy());
  closers.push(async () => {
    await end();
    cut();
    await new Promise((resolve) => server.close(resolve));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { target: `127.0.0.1:${(server.address() as AddressInfo).port}`, cut };
}

/** Both ways at once, on one port. */
function serveAgent(seen: Seen, token: string | undefined): ReturnType<typeof serve> {
  const acp = new AcpServer({ createAgent: () => remoteAgent(seen) });
  const welcome = (authorization: string | undefined) => {
    seen.tokens.push(authorization);
    return token === undefined || authorization === `Bearer ${token}`;
  };
  const handle = createNodeHttpHandler(acp);
  const http = createServer((request, response) => {
    seen.methods.push(request.method ?? "");
    if (welcome(request.headers.authorization)) handle(request, response);
    else response.writeHead(401).end(JSON.stringify({ message: "who are you" }));
  });
  const sockets = new WebSocketServer({ noServer: true });
  const upgrade = createNodeWebSocketUpgradeHandler(acp, {
    on: (event, listener) => void sockets.on(event, listener),
    off: (event, listener) => void sockets.off(event, listener),
    handleUpgrade: (request, stream, head, callback) =>
      sockets.handleUpgrade(request, stream, head, (socket) => {
        seen.sockets.push(socket);
        socket.on("close", (code) => seen.closes.push(code));
        callback(socket);
      }),
  });
  http.on("upgrade", (request, stream: Duplex, head) => {
    seen.methods.push("UPGRADE");
    if (welcome(request.headers.authorization)) upgrade(request, stream, head);
    else stream.end("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n");
  });
  return serve(http, () => acp.close());
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

async function turn(client: AgentContext, { prompt, cancelled }: { prompt: string; cancelled: Promise<void> }) {
  const update = (fields: object) => client.notify("session/update", { sessionId, update: fields } as never);
  const say = (text: string) => update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
  if (prompt.includes("limited")) throw new RequestError(429, "Rate limit reached. Try again in 3 seconds.");
  if (prompt.includes("stay")) {
    await say("waiting");
    await cancelled;
    return { stopReason: "cancelled" } as const;
  }
  if (prompt.includes("many")) { for (let round = 0; round < 500; round++) await say("0123456789"); }
  if (prompt.includes("long")) await say("x".repeat(3 * 1024 * 1024));
  if (prompt.includes("tool")) {
    const call = { toolCallId: "call-1", title: "Look", kind: "read", rawInput: { path: "a" } };
    await update({ sessionUpdate: "tool_call", ...call, status: "pending" });
    await update({ sessionUpdate: "tool_call_update", toolCallId: "call-1", status: "completed" });
  }
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
