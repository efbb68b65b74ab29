import { Worker } from "node:worker_threads";
import { type BenchHost, benchHost, type Isolation } from "./bench-host.ts";
import { aimed, type Figure, quantile, timed } from "./measure.ts";
import { programUrl } from "./programs/program-url.ts";

const onDeno = "Deno" in globalThis;

/**
 * Events of one session: validated, merged, written to the journal and counted by a live reader, beside the same
 * objects posted raw from a thread.
 */
export async function events({ quick }: { quick: boolean }): Promise<Figure[]> {
  const count = quick ? 50_000 : 200_000;
  const rounds = quick ? 3 : 5;
  const worker = new Worker(programUrl("bare-worker"));
  const hosts = { thread: await benchHost("thread"), process: await benchHost("process") };
  const ways = [
    { name: "raw.batched", run: () => raw(worker, { flood: count, batch: 64 }) },
    { name: "raw.unbatched", run: () => raw(worker, { flood: count, batch: 1 }) },
    ...(["thread", "process"] as const).flatMap((isolation) =>
      (["single", "arrays"] as const).map((kind) => ({
        name: `${isolation}.${kind}`,
        run: () => counted(hosts[isolation], `${kind} ${count}`),
      }))
    ),
  ].map((way) => ({ ...way, rates: [] as number[] }));
  for (let round = -1; round < rounds; round++) {
    for (const { run, rates } of ways) {
      const rate = count / (await timed(run) / 1000);
      if (round >= 0) rates.push(rate);
    }
  }
  await worker.terminate();
  for (const host of Object.values(hosts)) await host[Symbol.asyncDispose]();
  const median = (name: string) => quantile(ways.find((way) => way.name === name)?.rates ?? [], 0.5);
  const ratio = (isolation: Isolation, kind: string): Figure => {
    const value = median(`${isolation}.${kind}`) / median("raw.batched");
    const least = onDeno ? 1 : 0.45;
    return aimed({ name: `events.${isolation}.${kind}.ratio`, value, unit: "ratio" }, { least });
  };
  return [
    ...ways.map(({ name }): Figure => ({ name: `events.${name}`, value: median(name), unit: "per_second" })),
    ratio("thread", "single"),
    ratio("thread", "arrays"),
    ratio("process", "single"),
    ratio("process", "arrays"),
  ];
}

async function counted({ start }: BenchHost, prompt: string): Promise<void> {
  const session = await start(prompt);
  let agent = 0;
  for await (const { source } of session.events()) if (source === "agent") agent++;
  if (agent !== Number(prompt.split(" ")[1])) throw new Error(`"${prompt}" gave ${agent} events.`);
}

function raw(worker: Worker, order: { flood: number; batch: number }): Promise<void> {
  return new Promise((resolve) => {
    let seen = 0;
    const take = (message: object) => {
      seen += Array.isArray(message) ? message.length : 1;
      if (seen < order.flood) return;
      worker.off("message", take);
      resolve();
    };
    worker.on("message", take);
    worker.postMessage(order);
  });
}
