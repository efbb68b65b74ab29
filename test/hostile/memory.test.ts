import process from "node:process";
import { afterEach, expect, test } from "vitest";
import { adapterCode, completed, openHost } from "../sessions/host/test-host.ts";
import { endHostileGuests, hostileGuest } from "./hostile-guest.ts";

afterEach(endHostileGuests);

/** Keeps two megabytes for ever: the registry of symbols is the engine's, and outlives every compartment. */
const leaking = adapterCode(`
  for (let i = 0; i < 20; i++) Symbol.for(ctx.session_id + i + "x".repeat(100_000));
  yield ${completed};`);

const limits = { heap_mb: 48, workers: 1, quarantine_crashes: 1000, restart_backoff_ms: 1, restart_backoff_max_ms: 1 };

test("B16 what a plugin leaks below its limit goes when its worker is replaced after some sessions", async () => {
  const { add, run } = await openHost();
  await add("acme", { code: leaking }, { limits: { ...limits, sessions_before_recycle: 5 } });
  for (let i = 0; i < 40; i++) expect((await run("acme")).result.error).toBeUndefined();
}, 60_000);

test(
  "B16 without that the leak fills the heap: one worker dies, its session says so, and the next one runs",
  async () => {
    const { add, run } = await openHost();
    await add("acme", { code: leaking }, { limits });
    const codes: (string | undefined)[] = [];
    for (let i = 0; i < 40; i++) codes.push((await run("acme")).result.error?.code);
    const died = codes.filter((code) => code !== undefined);
    expect(died.length).toBeGreaterThan(0);
    expect(died.length).toBeLessThan(10);
    for (const code of died) expect(["out_of_memory", "crash", "unresponsive"]).toContain(code);
  },
  60_000,
);

test("B13 a message of half a gigabyte is ended while it comes in, and the host does not hold it", async () => {
  const before = process.memoryUsage().rss;
  const { openLane } = await hostileGuest(
    `
    send({ type: "loaded", protocol: 2 });
    const text = "x".repeat(100_000);
    const more = () => { for (let i = 0; i < 100; i++) send({ type: "part", text, last: false }); setImmediate(more); };
    more();`,
    { message_bytes: 4 * 1024 * 1024 },
  );
  const lane = openLane();
  await lane.ended;
  expect(lane.alive).toBe(false);
  expect(process.memoryUsage().rss - before).toBeLessThan(128 * 1024 * 1024);
});

test("B7 a process that takes memory outside the heap is refused it or ended, whatever its heap says", async () => {
  const { openLane } = await hostileGuest(
    `
    send({ type: "loaded", protocol: 2 });
    const all = [];
    setInterval(() => { try { all.push(new Uint8Array(2 ** 24).fill(1)); } catch { process.exit(5); } }, 5);`,
    { rss_mb: 256 },
  );
  const lane = openLane();
  const end = await lane.ended;
  expect(end.message).toMatch(/memory|exit|ended/);
  expect(lane.alive).toBe(false);
}, 30_000);
