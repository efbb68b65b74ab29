import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test, vi } from "vitest";
import { defaultTelemetrySettings, type TelemetrySettings } from "../../../core/ground/config/telemetry-settings.ts";
import { openJournal } from "../../../core/records/journal/open-journal.ts";
import { postOtlp, readRetryAfter } from "../../../core/records/telemetry/post-otlp.ts";
import { TelemetryExport } from "../../../core/records/telemetry/telemetry-export.ts";
import { afterEveryTest } from "../../clean-up.ts";
import { Collector } from "./collector.ts";
import { client, Envelopes, eventsOf, kept } from "./recorded-session.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEveryTest(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function openCollector(port?: number): Promise<Collector> {
  const collector = await Collector.start(port);
  closing.push(() => collector.close());
  return collector;
}

/** Returns what makes the engine collect garbage; Deno keeps requests. */
function collectGarbage(): () => void {
  if ("Deno" in globalThis) return () => {};
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
}

/** A journal in a folder of its own, with what writes to it and what sends it. */
async function setUp({ startMs }: { startMs?: number } = {}) {
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-telemetry-"));
  closing.push(() => rm(folder, { recursive: true, force: true }));
  const journal = await openJournal(join(folder, "journal.db"));
  closing.push(() => journal.close());
  const source = new Envelopes(startMs);
  const told: string[] = [];
  const add = async (session: string, events: readonly object[]) => {
    await journal.append({ session_id: session, envelopes: source.of(session, events) });
  };
  const start = (endpoint: string, more: Partial<TelemetrySettings> = {}) => {
    const settings = { ...defaultTelemetrySettings, endpoint, ...more };
    const telemetry = new TelemetryExport({
      journal,
      newest: () => journal.lastGseq,
      file: join(folder, "telemetry.json"),
      instance: "test",
      settings: () => settings,
      headers: ({ headers }) => Promise.resolve({ ...headers }),
      writeLog: ({ message }) => told.push(message),
      everyMs: 5,
      backoffMs: 5,
    });
    closing.push(() => telemetry.close());
    return telemetry;
  };
  return { add, start, told, journal };
}

/** Ids of sessions whose own span came, each as often as it came. */
const sessionsIn = ({ spans }: Collector) =>
  spans.filter(({ name }) => name === "invoke_agent echo").map(({ attributes }) => attributes["bulkhead.session.id"])
    .sort();
const until = (check: () => void) => vi.waitFor(check, { timeout: 5000, interval: 5 });

test("a collector gets one connected trace of a session with two tools and an agent of the agent, and its metrics", async () => {
  const { add, start } = await setUp();
  const collector = await openCollector();
  start(collector.endpoint, { headers: { authorization: "Bearer key" } });
  await add("session-1", eventsOf({ traceparent: `00-${client.trace}-${client.span}-01` }));
  await until(() => expect(collector.points.length).toBeGreaterThan(0));
  expect(collector.faults).toEqual([]);
  const ids = new Set(collector.spans.map(({ spanId }) => spanId));
  const roots = collector.spans.filter(({ parentSpanId }) => !ids.has(parentSpanId ?? ""));
  expect(roots.map(({ name, parentSpanId }) => [name, parentSpanId])).toEqual([["invoke_agent echo", client.span]]);
  expect(collector.spans.map(({ name }) => name).sort()).toEqual([
    "attempt 1",
    "chat model-1",
    "chat model-1",
    "execute_tool Read",
    "execute_tool Task",
    "execute_tool read",
    "invoke_agent echo",
    "invoke_agent explorer",
    "process agent",
  ]);
  expect(new Set(collector.spans.map(({ traceId }) => traceId))).toEqual(new Set([client.trace]));
  const tokens = collector.points.filter(({ metric }) => metric === "gen_ai.client.token.usage");
  expect(tokens.map(({ attributes, sum }) => [attributes["gen_ai.token.type"], sum])).toEqual([
    ["input", 120],
    ["output", 30],
  ]);
  expect(collector.headers[0]).toMatchObject({ authorization: "Bearer key", "content-type": "application/json" });
  for (const word of Object.values(kept)) expect(collector.bodies.join()).not.toContain(word);
});

test("content is sent where the operator wants it", async () => {
  const { add, start } = await setUp();
  const collector = await openCollector();
  start(collector.endpoint, { content: true });
  await add("session-1", eventsOf());
  await until(() => expect(sessionsIn(collector)).toEqual(["session-1"]));
  const session = collector.spans.find(({ name }) => name === "invoke_agent echo");
  expect(session?.attributes["gen_ai.input.messages"]).toContain(kept.prompt);
  expect(collector.faults).toEqual([]);
});

test("a trace that its client does not record, or that is not in the sample, is not sent; metrics count it", async () => {
  const { add, start } = await setUp();
  const collector = await openCollector();
  const telemetry = start(collector.endpoint);
  await add("unrecorded", eventsOf({ traceparent: `00-${client.trace}-${client.span}-00` }));
  await until(() => expect(collector.points.length).toBeGreaterThan(0));
  await telemetry.close();
  start(collector.endpoint, { sample: 0 });
  await add("left-out", eventsOf());
  await until(() => expect(collector.points.filter(({ metric }) => metric.includes("invoke_agent")).length).toBe(2));
  expect(collector.spans).toEqual([]);
});

test("a collector that is away costs no events: all are sent once when it is back, and it is told once", async () => {
  const { add, start, told } = await setUp();
  const gone = await Collector.start();
  const { port, endpoint } = gone;
  await gone.close();
  start(endpoint);
  await add("session-1", eventsOf());
  await until(() => expect(told.length).toBe(1));
  await add("session-2", eventsOf());
  const collector = await openCollector(port);
  await until(() => expect(sessionsIn(collector)).toEqual(["session-1", "session-2"]));
  expect(new Set(collector.spans.map(({ spanId }) => spanId)).size).toBe(collector.spans.length);
  expect(told.map((line) => line.split(":")[0])).toEqual(["Cannot send telemetry", "Telemetry is sent again."]);
});

test("429 and 503 are tried again after the time that Retry-After names", async () => {
  const { add, start } = await setUp();
  const collector = await openCollector();
  const at: number[] = [];
  collector.answer = (_path, request) => {
    at.push(performance.now());
    if (request === 1) return { status: 429, headers: { "retry-after": "1" } };
    return request === 2 ? { status: 503 } : { status: 200 };
  };
  start(collector.endpoint);
  await add("session-1", eventsOf());
  await until(() => expect(sessionsIn(collector)).toEqual(["session-1"]));
  expect(at[1]! - at[0]!).toBeGreaterThan(990);
  expect(at[2]! - at[1]!).toBeLessThan(900);
});

test("readRetryAfter reads seconds and dates, and waits half a second at least and an hour at most", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  expect(readRetryAfter("120", now)).toBe(120_000);
  expect(readRetryAfter("Thu, 01 Jan 2026 00:00:30 GMT", now)).toBe(30_000);
  expect(readRetryAfter("Wed, 31 Dec 2025 00:00:30 GMT", now)).toBe(500);
  expect(readRetryAfter("0", now)).toBe(500);
  expect(readRetryAfter("999999999", now)).toBe(3_600_000);
  expect(readRetryAfter("soon", now)).toBeNull();
  expect(readRetryAfter(null, now)).toBeNull();
});

test("an answer without an end is given up, also after its request was collected as garbage", async () => {
  const server = createServer((_, response) => void response.writeHead(200).write("{"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const collecting = setInterval(collectGarbage(), 20);
  const late = new AbortController();
  setTimeout(() => late.abort(new Error("late")), 300);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    const posts = await Promise.all([1, 2, 3].map(() => postOtlp("{}", { url, headers: {}, signal: late.signal })));
    expect(posts).toEqual(posts.map(() => ({ state: "failed", reason: "late", again_ms: null })));
  } finally {
    clearInterval(collecting);
    server.closeAllConnections();
    server.close();
  }
}, 5000);

test("a slow collector gets each event once", async () => {
  const { add, start } = await setUp();
  const collector = await openCollector();
  collector.answer = () => ({ status: 200, afterMs: 50 });
  start(collector.endpoint);
  const names = Array.from({ length: 5 }, (_, at) => `session-${at}`);
  for (const name of names) await add(name, eventsOf());
  await until(() => expect(sessionsIn(collector)).toEqual(names));
  expect(new Set(collector.spans.map(({ spanId }) => spanId)).size).toBe(collector.spans.length);
});

test("the export goes on after a restart in the middle of a session, and sends each span once", async () => {
  const { add, start } = await setUp();
  const collector = await openCollector();
  const first = start(collector.endpoint);
  const events = eventsOf();
  const middle = 8;
  await add("session-1", events.slice(0, middle));
  await until(() => expect(collector.spans.map(({ name }) => name)).toContain("execute_tool Read"));
  await first.close();
  await add("session-1", events.slice(middle));
  start(collector.endpoint);
  await until(() => expect(sessionsIn(collector)).toEqual(["session-1"]));
  expect(collector.spans.length).toBe(9);
  expect(new Set(collector.spans.map(({ spanId }) => spanId)).size).toBe(9);
});

test("a host that closes sends what is left, and does not wait for a collector that is away", async () => {
  const { add, start } = await setUp();
  const collector = await openCollector();
  const telemetry = start(collector.endpoint);
  await add("session-1", eventsOf());
  await telemetry.close();
  expect(sessionsIn(collector)).toEqual(["session-1"]);
  collector.answer = () => ({ status: 200, afterMs: 20_000 });
  const second = start(collector.endpoint);
  await add("session-2", eventsOf());
  const began = performance.now();
  await second.close();
  expect(performance.now() - began).toBeLessThan(4500);
});

test("of a backlog that is too long the oldest events are dropped, counted and told once, and the tree stays one", async () => {
  const { add, start, told, journal } = await setUp();
  const gone = await Collector.start();
  const { port, endpoint } = gone;
  await gone.close();
  start(endpoint, { backlog_events: 1000 });
  const events = eventsOf();
  await add("session-1", events.slice(0, 8));
  await until(() => expect(told.length).toBe(1));
  const output = { type: "output", stream: "stdout", data: "x" };
  await add("session-1", Array.from({ length: 3000 }, () => output));
  const collector = await openCollector(port);
  expect(told.some((line) => line.startsWith("Dropped"))).toBe(false);
  await add("session-1", events.slice(12));
  await until(() => expect(sessionsIn(collector)).toEqual(["session-1"]));
  await until(() => expect(told.filter((line) => line.startsWith("Dropped")).length).toBe(1));
  const dropped = Number(/\d+/.exec(told.find((line) => line.startsWith("Dropped"))!)![0]);
  expect(dropped).toBeGreaterThanOrEqual(journal.lastGseq - 1000 - events.length);
  expect(dropped).toBeLessThan(journal.lastGseq);
  const ids = new Set(collector.spans.map(({ spanId }) => spanId));
  const session = collector.spans.find(({ name }) => name === "invoke_agent echo")!;
  expect(collector.spans.filter(({ spanId }) => spanId === session.spanId).length).toBe(1);
  expect(ids.has(session.spanId)).toBe(true);
});

test("events that are too old are dropped and told of", async () => {
  const { add, start, told } = await setUp({ startMs: Date.now() - 3_600_000 });
  const collector = await openCollector();
  start(collector.endpoint, { backlog_ms: 60_000 });
  await add("old", eventsOf());
  await until(() => expect(told).toEqual(["Dropped telemetry of 17 events: the collector did not take them in time."]));
  expect(collector.requests).toBe(0);
});

test("a body that the collector refuses is not sent again, and its events count as dropped", async () => {
  const { add, start, told } = await setUp();
  const collector = await openCollector();
  collector.answer = (path, request) => ({ status: path === "/v1/traces" && request === 1 ? 400 : 200 });
  start(collector.endpoint);
  await add("session-1", eventsOf());
  await until(() => expect(told.length).toBe(2));
  await add("session-2", eventsOf());
  await until(() => expect(sessionsIn(collector)).toEqual(["session-2"]));
  expect(told[1]).toBe("Dropped telemetry of 17 events: the collector did not take them in time.");
});

test("a collector without metrics gets traces", async () => {
  const { add, start, told } = await setUp();
  const collector = await openCollector();
  collector.answer = (path) => ({ status: path === "/v1/metrics" ? 404 : 200 });
  start(collector.endpoint);
  for (const name of ["session-1", "session-2"]) await add(name, eventsOf());
  await until(() => expect(sessionsIn(collector)).toEqual(["session-1", "session-2"]));
  expect(told.filter((line) => line.startsWith("Dropped"))).toEqual([]);
});
