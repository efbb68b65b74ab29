import { request } from "node:http";
import { connectHost, type RemoteHost } from "bulkhead/client";
import { unixFetch } from "bulkhead";
import { type BenchDaemon, benchDaemon } from "./bench-daemon.ts";
import { benchHost } from "./bench-host.ts";
import { type Figure, quantile, timed } from "./measure.ts";

/** The HTTP API of a daemon over its socket: a session's start to its first event, and many readers of many sessions. */
export async function http({ quick }: { quick: boolean }): Promise<Figure[]> {
  return [
    ...await firstEvent(quick ? 50 : 300),
    ...await subscribers({ readers: quick ? 100 : 1000, sessions: quick ? 20 : 100 }),
  ];
}

function clientOf({ socket, token }: BenchDaemon): RemoteHost {
  return connectHost({ fetch: unixFetch(socket), token, proof: "once" });
}

/** From the call to the first event, which both roads tell only when it is durable. */
async function firstEvent(rounds: number): Promise<Figure[]> {
  await using bench = await benchHost("process");
  await using daemon = await benchDaemon();
  const ways = [
    { name: "in_process", sessions: bench.host.sessions, times: [] as number[] },
    { name: "http", sessions: clientOf(daemon), times: [] as number[] },
  ];
  const wanted = { workdir: bench.workdir, prompt: "single 5", retry: "never" as const };
  for (let round = -20; round < rounds; round++) {
    for (const { sessions, times } of ways) {
      let rest: AsyncIterator<unknown> | undefined;
      const ms = await timed(async () => {
        const session = await sessions.start(wanted, { adapter: "bench", artifacts: "none" });
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

/** Readers of all sessions' events, while so many sessions at a time say ten things each. */
async function subscribers({ readers, sessions }: { readers: number; sessions: number }): Promise<Figure[]> {
  await using daemon = await benchDaemon();
  const client = clientOf(daemon);
  const run = async () => {
    const wanted = { workdir: daemon.folder, prompt: "single 10", retry: "never" as const };
    const session = await client.start(wanted, { adapter: "bench", artifacts: "none" });
    return (await session.result(), await session.summary()).last_seq;
  };
  await Promise.all(Array.from({ length: sessions }, run));
  const idle = daemon.residentMb();
  const seen = { events: 0, lags: [] as number[] };
  const streams: (() => void)[] = [];
  // A socket holds only so many connections that are not taken yet.
  while (streams.length < readers) {
    const next = Array.from({ length: 50 }, (_, index) => reader(daemon, streams.length + index, seen));
    streams.push(...await Promise.all(next));
  }
  const opened = daemon.residentMb();
  const started = performance.now();
  const counts = await Promise.all(Array.from({ length: sessions }, run));
  const events = counts.reduce((sum, count) => sum + count, 0);
  while (seen.events < events * readers) await new Promise((resolve) => setTimeout(resolve, 5));
  const seconds = (performance.now() - started) / 1000;
  const busy = daemon.residentMb();
  for (const end of streams) end();
  return [
    { name: "http.subscribers.readers", value: readers, unit: "count" },
    { name: "http.subscribers.sessions", value: sessions, unit: "count" },
    { name: "http.subscribers.events", value: events / seconds, unit: "per_second" },
    { name: "http.subscribers.delivered", value: seen.events / seconds, unit: "per_second" },
    { name: "http.subscribers.lag.p50", value: quantile(seen.lags, 0.5), unit: "ms" },
    { name: "http.subscribers.lag.p99", value: quantile(seen.lags, 0.99), unit: "ms" },
    { name: "http.daemon.rss", value: idle, unit: "mb" },
    { name: "http.subscribers.memory.waiting", value: opened - idle, unit: "mb" },
    { name: "http.subscribers.memory.busy", value: busy - idle, unit: "mb" },
  ];
}

/** One reader in fifty says how long after its time stamp the last event of each piece came. */
function reader(
  { socket, token }: BenchDaemon,
  index: number,
  seen: { events: number; lags: number[] },
): Promise<() => void> {
  const headers = { host: "localhost", authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath: socket, path: "/v1/events", agent: false, headers });
    sent.on("error", reject);
    sent.on("response", (incoming) => {
      incoming.on("error", () => {});
      incoming.on("data", (piece: Uint8Array) => {
        const text = new TextDecoder().decode(piece);
        for (let at = text.indexOf("\n\n"); at !== -1; at = text.indexOf("\n\n", at + 2)) seen.events += 1;
        const at = index % 50 === 0 ? text.lastIndexOf('"ts":"') : -1;
        if (at !== -1 && at + 30 <= text.length) seen.lags.push(Date.now() - Date.parse(text.slice(at + 6, at + 30)));
      });
      resolve(() => void sent.destroy());
    });
    sent.end();
  });
}
