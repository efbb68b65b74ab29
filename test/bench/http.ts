import { connectHost, type RemoteHost } from "bulkhead/client";
import { unixFetch } from "bulkhead";
import { type BenchDaemon, benchDaemon } from "./bench-daemon.ts";
import { benchHost } from "./bench-host.ts";
import { type Figure, quantile, timed } from "./measure.ts";
import { partsOf } from "./parts.ts";
import { Readers } from "./readers.ts";

/** Parts that can be run alone. */
const parts: Record<string, (amount: { quick: boolean }) => Promise<Figure[]>> = {
  first_event: ({ quick }) => firstEvent(quick ? 50 : 300),
  burst: ({ quick }) => burst(quick ? quickCrowd : crowd),
  paced: ({ quick }) => paced(quick ? quickCrowd : crowd),
};
const crowd = { readers: 1000, sessions: 100 };
const quickCrowd = { readers: 100, sessions: 20 };

/**
 * The HTTP API of a daemon over its socket: a session's start to its first event, and many readers of many sessions.
 * The readers are in the bench's process, which shares the machine with the daemon.
 */
export async function http({ quick, part }: { quick: boolean; part?: string | undefined }): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const [, run] of partsOf(parts, part)) figures.push(...await run({ quick }));
  return figures;
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

/** Readers of all sessions' events, and sessions that speak at the same time. */
interface Crowd {
  readers: number;
  sessions: number;
}

/**
 * Each session says ten things as fast as it can. That is more at once than can be delivered at once, so that an
 * event's lag is the time that it waits for those before it: the rate counts, the lag only tells how long all took.
 */
async function burst({ readers: count, sessions }: Crowd): Promise<Figure[]> {
  await using daemon = await benchDaemon();
  const say = sayer(daemon, { sessions, prompt: "single 10" });
  await say();
  const idle = daemon.residentMb();
  await using readers = await Readers.open(daemon, { count, madeAt: /"ts":"([^"]+)"/ });
  const waiting = daemon.residentMb();
  const delivered = await readers.during(say);
  const busy = daemon.residentMb();
  return [
    { name: "http.burst.readers", value: count, unit: "count" },
    { name: "http.burst.sessions", value: sessions, unit: "count" },
    ...deliveryFigures("http.burst", readers, { ...delivered, count }),
    { name: "http.daemon.rss", value: idle, unit: "mb" },
    { name: "http.burst.memory.waiting", value: waiting - idle, unit: "mb" },
    { name: "http.burst.memory.busy", value: busy - idle, unit: "mb" },
  ];
}

/**
 * Each session says something every 430 ms: a thousand readers of a hundred sessions get a little over 200,000 events a
 * second. The lag is from the moment at which the adapter says something until a client has it, for each event.
 */
async function paced({ readers: count, sessions }: Crowd): Promise<Figure[]> {
  await using daemon = await benchDaemon();
  await sayer(daemon, { sessions, prompt: "paced 2 430" })();
  await using readers = await Readers.open(daemon, { count, madeAt: /"data":"(\d+)\\n"/ });
  const delivered = await readers.during(sayer(daemon, { sessions, prompt: "paced 22 430" }));
  return deliveryFigures("http.paced", readers, { ...delivered, count });
}

/** Runs sessions with one prompt, all at a time; what they made of events is counted with the host's own. */
function sayer(daemon: BenchDaemon, { sessions, prompt }: { sessions: number; prompt: string }): () => Promise<number> {
  const client = clientOf(daemon);
  const run = async () => {
    const request = { workdir: daemon.folder, prompt, retry: "never" as const };
    const session = await client.start(request, { adapter: "bench", artifacts: "none" });
    return (await session.result(), await session.summary()).last_seq;
  };
  return async () => (await Promise.all(Array.from({ length: sessions }, run))).reduce((sum, last) => sum + last, 0);
}

function deliveryFigures(
  name: string,
  { lags }: Readers,
  { events, seconds, lost, count }: { events: number; seconds: number; lost: number; count: number },
): Figure[] {
  return [
    { name: `${name}.events`, value: events / seconds, unit: "per_second" },
    { name: `${name}.delivered`, value: (events * count - lost) / seconds, unit: "per_second" },
    { name: `${name}.lost`, value: lost, unit: "count" },
    { name: `${name}.lag.p50`, value: quantile(lags, 0.5), unit: "ms" },
    { name: `${name}.lag.p99`, value: quantile(lags, 0.99), unit: "ms" },
  ];
}
