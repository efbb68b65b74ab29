import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectHost, type RemoteHost } from "bulkhead/client";
import { unixFetch } from "bulkhead";
import { type BenchDaemon, benchDaemon } from "./bench-daemon.ts";
import { aimed, type Figure, quantile, timed } from "./measure.ts";
import { partsOf } from "./parts.ts";

/**
 * A daemon of a cluster beside one that is alone, in turns: how long an event takes to a reader, and how many go through.
 * Then many sessions over three daemons. One server, all on this machine.
 */
export async function cluster(
  { quick, part }: { quick: boolean; part?: string | undefined },
): Promise<Figure[]> {
  // A machine without the server's program has nothing to compare.
  if (spawnSync("nats-server", ["--version"]).status !== 0) return [];
  const server = await startServer();
  const daemons = new Map<string, BenchDaemon>();
  const open = async (name: string) => {
    const cluster = { servers: [server.url], name, heartbeat_ms: "1s" };
    const daemon = daemons.get(name) ?? await benchDaemon(name === "alone" ? {} : { cluster });
    daemons.set(name, daemon);
    return wayOf(name, daemon);
  };
  try {
    const figures: Figure[] = [];
    for (const [, run] of partsOf(parts, part)) figures.push(...await run(open, quick));
    return figures;
  } finally {
    for (const daemon of daemons.values()) await daemon[Symbol.asyncDispose]();
    await server.stop();
  }
}

/** Returns the daemon of a name, and starts it before if need be; `alone` is of no cluster. */
type OpenWay = (name: string) => Promise<Way>;

/** The parts of this benchmark. After the events, the machines that join have all of them to copy. */
const parts: Record<string, (open: OpenWay, quick: boolean) => Promise<Figure[]>> = {
  events: async (open, quick) => {
    const ways: [Way, Way] = [await open("alone"), { ...await open("one"), name: "cluster" }];
    return [
      ...await latency(ways, quick ? 3 : 10),
      ...await throughput(ways, { events: quick ? 20_000 : 100_000, rounds: quick ? 3 : 5 }),
    ];
  },
  sessions: async (open, quick) => {
    return await manySessions([await open("one"), await open("two"), await open("three")], quick ? 150 : 1000);
  },
};

interface Way {
  name: string;
  host: RemoteHost;
  folder: string;
}

function wayOf(name: string, { socket, token, folder }: BenchDaemon): Way {
  return { name, folder, host: connectHost({ fetch: unixFetch(socket), token, proof: "once" }) };
}

async function read({ host, folder }: Way, prompt: string, seen: (data: string) => void): Promise<void> {
  const wanted = { workdir: folder, prompt, retry: "never" as const };
  const session = await host.start(wanted, { adapter: "bench", artifacts: "none" });
  for await (const { event } of session.events()) if (event.type === "output") seen(event.data);
  const { outcome } = await session.result();
  if (outcome !== "completed") throw new Error(`A session ended as ${outcome}.`);
}

/** From the moment an adapter says something to the moment a client has it; events of their own, 5 ms apart. */
async function latency(ways: readonly [Way, Way], rounds: number): Promise<Figure[]> {
  const times = ways.map((): number[] => []);
  for (let round = -2; round < rounds; round++) {
    for (const [index, way] of ways.entries()) {
      await read(way, "paced 100", (data) => {
        if (round >= 0) times[index]!.push(performance.timeOrigin + performance.now() - Number(data));
      });
    }
  }
  const p50 = times.map((all) => quantile(all, 0.5));
  return [
    ...ways.flatMap(({ name }, index): Figure[] => [
      { name: `cluster.latency.${name}.p50`, value: p50[index]!, unit: "ms" },
      { name: `cluster.latency.${name}.p99`, value: quantile(times[index]!, 0.99), unit: "ms" },
    ]),
    aimed({ name: "cluster.latency.added.p50", value: p50[1]! - p50[0]!, unit: "ms" }, { most: 1 }),
  ];
}

/** Events of one session until its end is durable, read by a client and unread: a reader may be slower than both. */
async function throughput(
  ways: readonly [Way, Way],
  { events, rounds }: { events: number; rounds: number },
): Promise<Figure[]> {
  const kinds = [
    { name: "read", run: (way: Way) => read(way, `single ${events}`, () => {}), rates: ways.map((): number[] => []) },
    { name: "unread", run: (way: Way) => finish(way, `single ${events}`), rates: ways.map((): number[] => []) },
  ];
  for (let round = -1; round < rounds; round++) {
    for (const { run, rates } of kinds) {
      for (const [index, way] of ways.entries()) {
        const ms = await timed(() => run(way));
        if (round >= 0) rates[index]!.push(events / ms * 1000);
      }
    }
  }
  return kinds.flatMap(({ name, rates }) => {
    const median = rates.map((all) => quantile(all, 0.5));
    return [
      ...ways.map((way, index): Figure => {
        return { name: `cluster.events.${name}.${way.name}`, value: median[index]!, unit: "per_second" };
      }),
      aimed({ name: `cluster.events.${name}.ratio`, value: median[1]! / median[0]!, unit: "ratio" }, { least: 0.35 }),
    ];
  });
}

async function finish({ host, folder }: Way, prompt: string): Promise<string> {
  const wanted = { workdir: folder, prompt, retry: "never" as const };
  const session = await host.start(wanted, { adapter: "bench", artifacts: "none" });
  const { outcome } = await session.result();
  if (outcome !== "completed") throw new Error(`A session ended as ${outcome}.`);
  return session.id;
}

/** Sessions that are all asked for at once, a third of them on each daemon, until each daemon knows the end of all. */
async function manySessions(ways: readonly Way[], count: number): Promise<Figure[]> {
  const began = performance.now();
  const ids = await Promise.all(
    Array.from({ length: count }, (_, index) => finish(ways[index % ways.length]!, "single 20")),
  );
  const ended = performance.now() - began;
  for (const { host } of ways) for (const id of ids) while ((await host.get(id)).state !== "ended") await pause();
  return [
    { name: "cluster.sessions", value: count, unit: "count" },
    { name: "cluster.sessions.ended", value: count / ended * 1000, unit: "per_second" },
    { name: "cluster.sessions.known_everywhere", value: performance.now() - began, unit: "ms" },
  ];
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 10));
}

async function startServer(): Promise<{ url: string; stop(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-bench-nats-"));
  const port = await freePort();
  const args = ["-a", "127.0.0.1", "-p", String(port), "-js", "-sd", folder];
  const child: ChildProcess = spawn("nats-server", args, { stdio: "ignore" });
  const ended = once(child, "exit");
  while (!(await answers(port))) await pause();
  return {
    url: `nats://127.0.0.1:${port}`,
    stop: async () => {
      child.kill("SIGTERM");
      await ended;
      await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.once("data", () => (socket.destroy(), resolve(true)));
    socket.once("error", () => resolve(false));
  });
}
