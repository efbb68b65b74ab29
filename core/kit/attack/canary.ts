import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { Host } from "../../sessions/host/host.ts";
import { rm } from "../../ground/platform/files/files.ts";
import { writePackage } from "./attack-package.ts";

/** Result of the session beside the attacks. */
export interface CanaryReport {
  events: number;
  lost: number;
  duplicated: number;
  disordered: number;
  /** Time from an event's making to its arrival, in milliseconds. */
  latency_p50_ms: number;
  latency_p99_ms: number;
}

/** A session that streams twenty events a second while others attack. */
interface Canary {
  /** Ends it and says whether it lost anything. */
  stop(): Promise<CanaryReport>;
}

const body = `
    for (let n = 1; !ctx.signal.aborted; n++) {
      yield { type: "progress", message: JSON.stringify({ n, at: Date.now() }) };
      await ctx.sleep(50).catch(() => {});
    }`;

/** Starts the canary on a host; its package lies in `folder`, which is removed when it stops. */
export async function startCanary(
  host: Host,
  { folder, workdir }: { folder: string; workdir: string },
): Promise<Canary> {
  const attack = {
    id: "Z0",
    name: "canary",
    attack: "None.",
    body,
    expected: { kind: "harmless" as const },
    withinMs: 0,
  };
  await writePackage(folder, attack);
  const plugin = await host.registry.register(folder, {});
  const session = await host.runSession({ workdir, prompt: "sing", retry: "never" }, {
    adapter: plugin.id,
    artifacts: "none",
  });
  const seen: { envelope: Envelope; arrivedAt: number }[] = [];
  const reading = (async () => {
    for await (const envelope of session.events()) seen.push({ envelope, arrivedAt: Date.now() });
  })();
  return {
    async stop() {
      await session.interrupt();
      await reading;
      await host.registry.remove(plugin.id);
      await rm(folder, { recursive: true, force: true });
      return report(seen);
    },
  };
}

function report(seen: readonly { envelope: Envelope; arrivedAt: number }[]): CanaryReport {
  const notes = seen.flatMap(({ envelope: { event }, arrivedAt }) => {
    if (event.type !== "progress") return [];
    const { n, at } = JSON.parse(event.message) as { n: number; at: number };
    return [{ n, latency: arrivedAt - at }];
  });
  const numbers = notes.map(({ n }) => n);
  const distinct = new Set(numbers);
  const gaps = seen.filter(({ envelope }, index) => envelope.seq !== index + 1).length;
  const latencies = notes.map(({ latency }) => latency).sort((a, b) => a - b);
  const quantile = (share: number) =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
  return {
    events: numbers.length,
    lost: Math.max(0, ...numbers) - distinct.size + gaps,
    duplicated: numbers.length - distinct.size,
    disordered: numbers.filter((n, index) => index > 0 && n < numbers[index - 1]!).length,
    latency_p50_ms: quantile(0.5),
    latency_p99_ms: quantile(0.99),
  };
}
