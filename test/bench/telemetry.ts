import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type BenchHost, benchHost } from "./bench-host.ts";
import { aimed, type Figure, quantile, timed } from "./measure.ts";

/** Events of one session with and without an export to a collector on this machine, side by side. */
export async function telemetry({ quick }: { quick: boolean }): Promise<Figure[]> {
  const count = 100_000;
  const rounds = quick ? 3 : 7;
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
  const behind: number[] = [];
  for (let round = -1; round < rounds; round++) {
    for (const [at, host] of hosts.entries()) {
      const before = traces;
      const took = await timed(() => read(host, `arrays ${count}`));
      // The export goes on behind the session, and must not slow the other host's run.
      const late = at === 0 ? 0 : await timed(() => until(() => traces > before));
      if (round < 0) continue;
      ms[at]!.push(took);
      if (at === 1) behind.push(late);
    }
  }
  for (const host of hosts) await host[Symbol.asyncDispose]();
  collector.closeAllConnections();
  await new Promise((resolve) => collector.close(resolve));
  // The fastest of each: other work of the machine only adds to a run.
  const [without = 0, exported = 0] = ms.map((all) => Math.min(...all));
  return [
    { name: "telemetry.without", value: without, unit: "ms" },
    { name: "telemetry.exported", value: exported, unit: "ms" },
    { name: "telemetry.behind", value: quantile(behind, 0.5), unit: "ms" },
    aimed({ name: "telemetry.ratio", value: exported / without, unit: "ratio" }, { most: 1.05 }),
  ];
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 20));
}

async function read({ start }: BenchHost, prompt: string): Promise<void> {
  for await (const _ of (await start(prompt)).events());
}
