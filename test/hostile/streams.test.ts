import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { chunksOf } from "../doors/acp/acp-client.ts";
import { eventBytes, linesOf, stallMs, startStreamingHost, type StreamingHost, Tally } from "./streaming-client.ts";

/** Megabytes through each door; the full form is 1000. */
const megabytes = Number(process.env["BULKHEAD_STREAM_MB"] ?? 150);
const count = Math.ceil(megabytes * 1_000_000 / eventBytes);
/** What the host may take of memory at most, however much passes through it: its heap and as much again. */
const mostRss = 512 * 1024 * 1024;
/** Under load a door passes some 5 MB in a second. */
const allowedMs = 60_000 + megabytes * 300;
/** Megabytes that are said to a client that does not read. */
const unreadCount = 1500;

test("C1 a session through MCP on standard output leaves nothing in the host", async () => {
  await using host = await startStreamingHost("mcp");
  callTool(host, count);
  await tallyUntil(host, 2);
  await leave(host, "MCP, standard output");
}, allowedMs);

test("C1 a session through ACP leaves nothing in the host", async () => {
  await using host = await startStreamingHost("acp");
  await promptAgent(host, count);
  await leave(host, "ACP");
}, allowedMs);

test.each(["mcp", "acp"])("C1 a client of %s that stops reading is cut off and told why", async (door) => {
  await using host = await startStreamingHost(door);
  if (door === "mcp") callTool(host, unreadCount);
  else await promptAgent(host, unreadCount, { reads: false });
  const report = await fared(host, `${door}, unread`);
  expect(report.cut_off?.code).toBe("timeout");
  expect(report.cut_off?.message).toMatch(/has read nothing for 5000 ms/);
}, allowedMs);

test("C1 a session through MCP over HTTP leaves nothing in the host, beside a client that does not read", async () => {
  await using host = await startStreamingHost("daemon");
  const { address, token } = await host.told<Address>("serves");
  const call = await openMcp({ address, token });
  const unread = await (await openMcp({ address, token }))(toolCall(host, unreadCount));
  const response = await call(toolCall(host, count));
  const tally = await tallyOf(response.body!);
  expect(tally.broken).toBeNull();
  expect(tally.events).toBeGreaterThan(count);
  expect(await cutOff(unread)).toBe(true);
  await leave(host, "MCP, HTTP");
}, allowedMs);

test("C2 a session through SSE and NDJSON leaves nothing in the host, beside a client that does not read", async () => {
  await using host = await startStreamingHost("daemon");
  const { address, token } = await host.told<Address>("serves");
  const started = await fetch(`${address}/v1/sessions`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ workdir: host.workdir, prompt: String(count), adapter: "flood", artifacts: "none" }),
  });
  const { session_id } = await started.json() as { session_id: string };
  const open = (accept: string) =>
    fetch(`${address}/v1/sessions/${session_id}/events`, { headers: { authorization: `Bearer ${token}`, accept } });
  const [unread, ...read] = await Promise.all(
    ["application/x-ndjson", "application/x-ndjson", "text/event-stream"].map(open),
  );
  for (const tally of await Promise.all(read.map(({ body }) => tallyOf(body!)))) {
    expect(tally.broken).toBeNull();
    expect(tally.events).toBeGreaterThan(count);
  }
  expect(await cutOff(unread!)).toBe(true);
  await leave(host, "SSE and NDJSON");
}, allowedMs);

test.each([["library", 0], ["late", count]])(
  "C2 a session that its program reads not at all, or late (%s), leaves nothing in the host",
  async (door, read) => {
    await using host = await startStreamingHost(door, String(count));
    const ended = await host.told<{ outcome: string; read: number }>("ended");
    expect(ended).toMatchObject({ outcome: "completed" });
    expect(ended.read).toBeGreaterThanOrEqual(read);
    await fared(host, `library, ${door}`);
  },
  allowedMs,
);

interface Address {
  address: string;
  token: string;
}

/** Lets the host end, and sees how it fared. */
async function leave(host: StreamingHost, what: string): Promise<void> {
  host.child.stdin!.end();
  await fared(host, what);
}

async function fared(host: StreamingHost, what: string) {
  const report = await host.report();
  const { canary, peak_rss } = report;
  process.stderr.write(
    `${what}: peak RSS ${Math.round(peak_rss / 2 ** 20)} MB, canary p50 ${canary.latency_p50_ms} ms, ` +
      `p99 ${canary.latency_p99_ms} ms of ${canary.events} events\n`,
  );
  expect(canary).toMatchObject({ lost: 0, duplicated: 0, disordered: 0 });
  expect(canary.events).toBeGreaterThan(10);
  expect(peak_rss).toBeLessThan(mostRss);
  return report;
}

function send({ child }: StreamingHost, message: object): void {
  child.stdin!.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

const initialize = {
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "reader", version: "1.0.0" } },
};
const initialized = { method: "notifications/initialized" };

function toolCall({ workdir }: StreamingHost, events: number) {
  const args = { workdir, prompt: String(events), adapter: "flood", artifacts: "none" };
  return { id: 2, method: "tools/call", params: { name: "run_session", arguments: args } };
}

function callTool(host: StreamingHost, events: number): void {
  for (const message of [initialize, initialized, toolCall(host, events)]) send(host, message);
}

/** Counts a session's events on standard output until the answer to a request comes. */
async function tallyUntil({ child }: StreamingHost, id: number): Promise<void> {
  const tally = new Tally();
  for await (const line of linesOf(child.stdout!)) {
    tally.see(line);
    if (isAnswer(line, id)) break;
  }
  expect(tally.broken).toBeNull();
  expect(tally.events).toBeGreaterThan(count);
}

/** Has the agent at the other end of the pipes say so much, and reads it where it is to be read. */
async function promptAgent(host: StreamingHost, events: number, { reads = true } = {}): Promise<void> {
  send(host, { ...initialize, params: { protocolVersion: 1, clientCapabilities: {} } });
  send(host, { id: 2, method: "session/new", params: { cwd: host.workdir, mcpServers: [] } });
  let sessionId = "";
  const tally = new Tally();
  for await (const line of linesOf(host.child.stdout!.iterator({ destroyOnReturn: false }))) {
    if (sessionId === "") {
      sessionId = /"sessionId":"([^"]+)"/.exec(line.head)?.[1] ?? "";
      if (sessionId === "") continue;
      const prompt = [{ type: "text", text: String(events) }];
      send(host, { id: 3, method: "session/prompt", params: { sessionId, prompt } });
      if (!reads) return;
    }
    tally.see(line);
    if (isAnswer(line, 3)) break;
  }
  expect(tally.broken).toBeNull();
  expect(tally.events).toBeGreaterThan(events);
}

function isAnswer({ head, tail }: { head: string; tail: string }, id: number): boolean {
  return !/"method":/.test(head.slice(0, 200)) &&
    new RegExp(`"id":${id}[,}]`).test(`${head.slice(0, 60)}${tail.slice(-60)}`);
}

/** Opens a connection of MCP over HTTP; gives what sends a request on it. */
async function openMcp({ address, token }: Address): Promise<(message: object) => Promise<Response>> {
  const headers: Record<string, string> = {
    authorization: `Bearer ${token}`,
    accept: "application/json, text/event-stream",
    "content-type": "application/json",
  };
  const post = (message: object) =>
    fetch(`${address}/mcp`, { method: "POST", headers, body: JSON.stringify({ jsonrpc: "2.0", ...message }) });
  const opened = await post(initialize);
  headers["mcp-session-id"] = opened.headers.get("mcp-session-id") ?? "";
  await opened.text();
  await (await post(initialized)).text();
  return post;
}

async function tallyOf(body: ReadableStream<Uint8Array>): Promise<Tally> {
  const tally = new Tally();
  for await (const line of linesOf(chunksOf(body))) {
    tally.see(line);
    if (line.head.includes('"session_ended"')) break;
  }
  return tally;
}

/** Whether a response breaks off that is read only when its client should have been given up, with what was sent before. */
async function cutOff({ body }: Response): Promise<boolean> {
  await delay(stallMs + 2000);
  try {
    for await (const _ of body!) { /* Only its end counts. */ }
    return false;
  } catch {
    return true;
  }
}
