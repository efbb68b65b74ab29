import { mkdtemp, rm } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectHost, type RemoteHost } from "bulkhead/client";
import { defaultLimits, unixFetch } from "bulkhead";
import { createHttpDoor } from "../../core/http/door.ts";
import { openSessionOwners } from "../../core/http/session-owners.ts";
import { openTokens } from "../../core/http/tokens.ts";
import { startHttpServer } from "../../core/runtime/http-server.ts";
import { type BenchHost, benchHost } from "./bench-host.ts";
import { type Figure, quantile, residentMb, timed } from "./measure.ts";

/** The HTTP API over a unix socket: a session's start to its first event, and many readers of many sessions. */
export async function http({ quick }: { quick: boolean }): Promise<Figure[]> {
  return [...await firstEvent(quick ? 50 : 300), ...await subscribers(quick ? 100 : 1000, quick ? 20 : 100)];
}

interface Served extends AsyncDisposable {
  socket: string;
  client: RemoteHost;
}

async function serve({ host }: BenchHost): Promise<Served> {
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-bench-http-"));
  const socket = join(folder, "socket");
  const limits = { ...defaultLimits, http_requests_per_second: 1e6, http_streams: 5000, http_connections: 5000 };
  const unused = () => Promise.reject(new Error("No bench asks for it."));
  const door = createHttpDoor({
    sessions: host.sessions,
    facts: {
      plugins: { list: unused, explain: unused, grants: () => ({ plugin_id: "", grant: {}, deny: {} }) },
      setGrants: unused,
      reload: unused,
      signals: () => host.signals(),
      readiness: () => ({ ready: true }),
    },
    tokens: openTokens(folder),
    owners: await openSessionOwners(folder),
    hosts: () => [],
    limits,
  });
  const server = await startHttpServer({
    at: { kind: "unix", path: socket },
    limits: {
      header_bytes: limits.http_header_bytes,
      connections: limits.http_connections,
      header_timeout_ms: limits.http_header_timeout_ms,
      request_timeout_ms: limits.http_request_timeout_ms,
      stall_timeout_ms: limits.http_stall_timeout_ms,
    },
    answer: (asked, from) => door.fetch(asked, from),
  });
  return {
    socket,
    client: connectHost({ fetch: unixFetch(socket) }),
    async [Symbol.asyncDispose]() {
      door.close();
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** From the call to the first event, which both roads tell only when it is durable. */
async function firstEvent(rounds: number): Promise<Figure[]> {
  await using bench = await benchHost("process");
  await using served = await serve(bench);
  const { host, workdir } = bench;
  const wanted = { workdir, prompt: "single 5", retry: "never" as const };
  const options = { adapter: "bench", artifacts: "none" as const };
  const ways = [
    { name: "in_process", sessions: host.sessions, times: [] as number[] },
    { name: "http", sessions: served.client, times: [] as number[] },
  ];
  for (let round = -20; round < rounds; round++) {
    for (const { sessions, times } of ways) {
      let rest: AsyncIterator<unknown> | undefined;
      const ms = await timed(async () => {
        const session = await sessions.start(wanted, options);
        rest = session.events()[Symbol.asyncIterator]();
        await rest.next();
      });
      while (!(await rest!.next()).done);
      if (round >= 0) times.push(ms);
    }
  }
  const [direct, over] = ways.map(({ times }) => quantile(times, 0.5));
  return [
    ...ways.flatMap(({ name, times }): Figure[] => [
      { name: `http.first_event.${name}.p50`, value: quantile(times, 0.5), unit: "ms" },
      { name: `http.first_event.${name}.p99`, value: quantile(times, 0.99), unit: "ms" },
    ]),
    { name: "http.first_event.ratio", value: over! / direct!, unit: "ratio" },
  ];
}

/** Readers of all sessions' events, while as many sessions as given say something all the time. */
async function subscribers(readers: number, sessions: number): Promise<Figure[]> {
  await using bench = await benchHost("process", { sessions_per_worker: 64, workers: 2 });
  await using served = await serve(bench);
  const { host, workdir } = bench;
  const before = residentMb();
  const counts = new Array<number>(readers).fill(0);
  const lags: number[] = [];
  const streams = await Promise.all(counts.map((_, index) =>
    new Promise<{ destroy(): void }>((resolve, reject) => {
      const sent = request({
        socketPath: served.socket,
        path: "/v1/events",
        agent: false,
        headers: { host: "localhost" },
      });
      sent.on("error", reject);
      sent.on("response", (incoming) => {
        incoming.on("error", () => {});
        incoming.on("data", (piece: Uint8Array) => {
          const text = new TextDecoder().decode(piece);
          counts[index]! += text.split("\n\n").length - 1;
          const at = index % 50 === 0 ? text.lastIndexOf('"ts":"') : -1;
          if (at !== -1) lags.push(Date.now() - Date.parse(text.slice(at + 6, at + 30)));
        });
        resolve(sent);
      });
      sent.end();
    })
  ));
  const opened = residentMb();
  const started = performance.now();
  const prompt = "single 20";
  const rounds = 3;
  let events = 0;
  for (let round = 0; round < rounds; round++) {
    const live = await Promise.all(
      Array.from(
        { length: sessions },
        () => host.runSession({ workdir, prompt, retry: "never" }, { adapter: "bench", artifacts: "none" }),
      ),
    );
    for (const session of live) for await (const _ of session) events += 1;
  }
  const total = events * readers;
  while (counts.reduce((sum, count) => sum + count, 0) < total) await new Promise((resolve) => setTimeout(resolve, 5));
  const seconds = (performance.now() - started) / 1000;
  const busy = residentMb();
  for (const stream of streams) stream.destroy();
  return [
    { name: "http.subscribers.readers", value: readers, unit: "count" },
    { name: "http.subscribers.sessions", value: sessions, unit: "count" },
    { name: "http.subscribers.delivered", value: total / seconds, unit: "per_second" },
    { name: "http.subscribers.events", value: events / seconds, unit: "per_second" },
    { name: "http.subscribers.lag.p50", value: quantile(lags, 0.5), unit: "ms" },
    { name: "http.subscribers.lag.p99", value: quantile(lags, 0.99), unit: "ms" },
    { name: "http.subscribers.idle_memory", value: opened - before, unit: "mb" },
    { name: "http.subscribers.busy_memory", value: busy - before, unit: "mb" },
  ];
}
