import { setTimeout as delay } from "node:timers/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startCanary } from "../../core/kit/attack/canary.ts";
import { adapterCode, openHost } from "../sessions/host/test-host.ts";

/** The costliest events there may be: as many values as are allowed, and as many bytes. */
const costliest = adapterCode(`
    const many = {};
    for (let n = 0; n < 6000; n++) many["key" + n] = { [n]: "x".repeat(100) };
    for (;;) yield { type: "unparsed", data: many };`);

/** Milliseconds for which one such event keeps this thread busy while it is parsed: how loaded the machine is. */
function costOfOne(): number {
  const many = Object.fromEntries(Array.from({ length: 6000 }, (_, n) => [`key${n}`, { [n]: "x".repeat(100) }]));
  const text = JSON.stringify(many);
  return Math.max(...Array.from({ length: 20 }, () => {
    const started = performance.now();
    JSON.parse(text);
    return performance.now() - started;
  }));
}

/** Longest time for which a timer of this thread was late, in milliseconds. */
function watchStalls(): { worst(): number; stop(): void } {
  let last = performance.now();
  let worst = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    worst = Math.max(worst, now - last);
    last = now;
  }, 5);
  return { worst: () => worst, stop: () => clearInterval(timer) };
}

describe("host_ms_per_second", () => {
  test("a plugin that floods with the costliest events neither stops the host nor ends, and others keep their latency", async () => {
    const { host, add, root, workdir } = await openHost();
    // A fast machine would reach the default limit of a session's bytes before it is interrupted.
    await add("flood", { code: costliest }, { limits: { event_bytes_total: 512 * 1024 * 1024 } });
    const canary = await startCanary(host as never, { folder: join(root, "canary"), workdir });
    const flood = await host.runSession({ workdir, prompt: "go", retry: "never" }, {
      adapter: "flood",
      artifacts: "none",
    });
    const unitMs = costOfOne();
    let events = 0;
    const reading = (async () => {
      for await (const { event } of flood.events()) if (event.type === "unparsed") events++;
    })();
    await delay(1500);
    const stalls: number[] = [];
    for (let second = 0; second < 6; second++) {
      const watched = watchStalls();
      await delay(1000);
      stalls.push(watched.worst());
      watched.stop();
    }
    const sung = await canary.stop();
    const result = await flood.interrupt();
    await reading;
    expect(result.stop_reason).toBe("interrupted");
    expect(events).toBeGreaterThan(3);
    // A flood that stops the host does so again and again; what else the machine does, in one second.
    expect(stalls.sort((a, b) => a - b)[4]).toBeLessThan(Math.max(100, 12 * unitMs));
    expect(sung).toMatchObject({ lost: 0, duplicated: 0, disordered: 0 });
    expect(sung.events).toBeGreaterThan(10);
  });
});
