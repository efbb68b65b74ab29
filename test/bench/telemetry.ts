import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { type BenchHost, benchHost } from "./bench-host.ts";
import { aimed, type Figure, quantile, timed } from "./measure.ts";

/** Events of one session with and without an export to a collector on this machine, side by side. */
export async function telemetry({ quick }: { quick: boolean }): Promise<Figure[]> {
  const count = 100_000;
  const rounds = quick ? 3 : 9;
  let traces = 0;
  const collector = createServer((request, response) => {
    if (request.url === "/v1/traces") traces++;
    request.resume().on("end", () => response.end("{}"));
  });
  await new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve));
  const { port } = collector.address() as AddressInfo;
  const lines = `telemetry: { endpoint: "http://127.0.0.1:${port}" }\n`;
  const hosts = [await benchHost("process"), await benchHost("process", { lines })];
  const ms: number[][] = [[], []];
  const cpu: number[][] = [[], []];
  const behind: number[] = [];
  for (let round = -1; round < rounds; round++) {
    // Either one goes first in turn.
    for (const at of round % 2 === 0 ? [0, 1] : [1, 0]) {
      const host = hosts[at]!;
      const before = traces;
      const spent = process.cpuUsage();
      const took = await timed(() => read(host, `arrays ${count}`));
      const { user, system } = process.cpuUsage(spent);
      // The export goes on behind the session, and must not slow the other host's run.
      const late = at === 0 ? 0 : await timed(() => until(() => traces > before));
      if (round < 0) continue;
      ms[at]!.push(took);
      cpu[at]!.push(user + system);
      if (at === 1) behind.push(late);
    }
  }
  for (const host of hosts) await host[Symbol.asyncDispose]();
  collector.closeAllConnections();
  await new Promise((resolve) => collector.close(resolve));
  const median = (values: readonly number[]) => quantile(values, 0.5);
  // Each round is compared with itself: what else the machine does changes from round to round.
  const ratioOf = ([before = [], after = []]: readonly number[][]) => median(before.map((one, at) => after[at]! / one));
  const [without = [], exported = []] = ms;
  return [
    { name: "telemetry.without", value: median(without), unit: "ms" },
    { name: "telemetry.exported", value: median(exported), unit: "ms" },
    { name: "telemetry.behind", value: median(behind), unit: "ms" },
    // The host's own processor time, which a busy machine disturbs less.
    { name: "telemetry.cpu_ratio", value: ratioOf(cpu), unit: "ratio" },
    aimed({ name: "telemetry.ratio", value: ratioOf(ms), unit: "ratio" }, { most: 1.05 }),
  ];
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 20));
}

async function read({ start }: BenchHost, prompt: string): Promise<void> {
  for await (const _ of (await start(prompt)).events());
}
