import { Tinypool } from "tinypool";
import { benchHost } from "./bench-host.ts";
import { aimed, type Figure, quantile, timed } from "./measure.ts";
import { programUrl } from "./programs/program-url.ts";

/** A warm session of five events beside a bare task of the same pool library that returns five objects. */
export async function roundTrip({ quick }: { quick: boolean }): Promise<Figure[]> {
  const rounds = quick ? 200 : 1500;
  const pool = new Tinypool({
    filename: programUrl("bare-worker").href,
    minThreads: 1,
    maxThreads: 1,
    useAtomics: false,
  });
  await using thread = await benchHost("thread");
  await using process = await benchHost("process");
  const session = async ({ start }: typeof thread) => await (await start("single 5")).result();
  const ways = [
    { name: "bare", run: () => pool.run(null), times: [] as number[] },
    { name: "thread", run: () => session(thread), times: [] as number[] },
    { name: "process", run: () => session(process), times: [] as number[] },
  ];
  for (let round = -50; round < rounds; round++) {
    for (const { run, times } of ways) {
      const ms = await timed(run);
      if (round >= 0) times.push(ms);
    }
  }
  await pool.destroy();
  const [bare, ...sessions] = ways.map(({ times }) => quantile(times, 0.5));
  const ratio = (at: number) => (sessions[at] ?? NaN) / (bare ?? NaN);
  return [
    ...ways.flatMap(({ name, times }): Figure[] => [
      { name: `round_trip.${name}.p50`, value: quantile(times, 0.5), unit: "ms" },
      { name: `round_trip.${name}.p99`, value: quantile(times, 0.99), unit: "ms" },
    ]),
    aimed({ name: "round_trip.thread.ratio", value: ratio(0), unit: "ratio" }, { most: 2 }),
    aimed({ name: "round_trip.process.ratio", value: ratio(1), unit: "ratio" }, { most: 3 }),
  ];
}
