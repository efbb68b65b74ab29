import { afterEach, describe, expect, it, vi } from "vitest";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { IdleContainers } from "../../../core/walls/pool/idle-containers.ts";
import type { CrashRecord } from "../../../plugin-sdk/plugin-report.ts";
import type { CrashStore } from "../../../core/walls/pool/plugin-health.ts";
import type { WorkerPlace } from "../../../core/walls/pool/plugin-pool.ts";
import { until } from "../../sessions/host/test-host.ts";
import { closePools, makePool, open, refusal, run, script } from "./pool-fixture.ts";

afterEach(closePools);

const hello = { type: "output", stream: "stdout", data: "hello" };
const one = { workers: 1, sessions_per_worker: 1 };

describe.each(["thread", "process"] as const)("PluginPool (%s)", (isolation) => {
  it("serves sessions one after another and many at once on the same workers", async () => {
    const pool = makePool(isolation);
    for (let n = 0; n < 5; n++) expect(await run(pool, "hello")).toEqual({ end: { value: null }, events: [hello] });
    const all = await Promise.all(Array.from({ length: 40 }, () => run(pool, "hello")));
    expect(all).toEqual(all.map(() => ({ end: { value: null }, events: [hello] })));
    expect(pool.queued).toBe(0);
  });

  it.each([[4, 1], [5, 2], [9, 3]])(
    "starts no more workers than a line needs (%i in line: %i)",
    async (inLine, needed) => {
      let started = 0;
      const begin = () => (started++, Promise.resolve(script));
      const pool = makePool(isolation, { workers: 4, sessions_per_worker: 4 }, { script: begin });
      const places = await Promise.all(Array.from({ length: inLine }, () => pool.acquire()));
      for (const place of places) place.release();
      expect(started).toBe(needed);
    },
  );

  it("starts workers one at a time, so that those whose places are free again before need no other", async () => {
    let started = 0;
    const begin = () => (started++, Promise.resolve(script));
    const pool = makePool(isolation, { workers: 4, sessions_per_worker: 4 }, { script: begin });
    await Promise.all(Array.from({ length: 16 }, () => pool.acquire().then((place) => place.release())));
    // The second one is on its way when the first has served all.
    expect(started).toBeLessThanOrEqual(2);
  });

  it("serves a line first come, first served, and tells each its position", async () => {
    const pool = makePool(isolation, one);
    const first = await pool.acquire();
    const positions: number[] = [];
    const order: number[] = [];
    const waiting = [1, 2, 3, 4].map((n) =>
      pool.acquire({ onQueued: (position) => positions.push(position) }).then((place) => {
        order.push(n);
        place.release();
      })
    );
    await until(() => pool.queued === 4);
    first.release();
    await Promise.all(waiting);
    expect(positions).toEqual([1, 2, 3, 4]);
    expect(order).toEqual([1, 2, 3, 4]);
  });

  it("lets go of one that is aborted in line, and the others move up", async () => {
    const pool = makePool(isolation, one);
    const first = await pool.acquire();
    const controller = new AbortController();
    const aborted = pool.acquire({ signal: controller.signal });
    const next = pool.acquire();
    await until(() => pool.queued === 2);
    controller.abort(new BulkheadError("interrupted", "Stop."));
    expect(await refusal(aborted)).toBe("interrupted");
    expect(pool.queued).toBe(1);
    first.release();
    (await next).release();
  });

  it("does not queue one that is aborted already", async () => {
    const pool = makePool(isolation, one);
    const first = await pool.acquire();
    const signal = AbortSignal.abort(new BulkheadError("interrupted", "Stop."));
    expect(await refusal(pool.acquire({ signal }))).toBe("interrupted");
    expect(pool.queued).toBe(0);
    first.release();
  });

  it("refuses as busy beyond its line", async () => {
    const pool = makePool(isolation, { ...one, queue: 2 });
    const first = await pool.acquire();
    const waiting = [pool.acquire(), pool.acquire()];
    await until(() => pool.queued === 2);
    expect(await refusal(pool.acquire())).toBe("busy");
    first.release();
    for (const place of waiting) (await place).release();
    (await pool.acquire()).release();
  });

  it("replaces a worker after its number of sessions, and not under one that still runs", async () => {
    const pool = makePool(isolation, { workers: 2, sessions_per_worker: 4, sessions_before_recycle: 3 });
    const held = await pool.acquire();
    const running = open(held, "wait");
    const { lane } = held;
    for (let n = 0; n < 2; n++) await run(pool, "hello");
    expect(lane.served).toBe(3);
    const other = await pool.acquire();
    expect(other.lane).not.toBe(lane);
    expect(lane.alive).toBe(true);
    running.cancel({ code: "interrupted", message: "Stop." });
    await running.ended;
    held.release();
    expect(lane.alive).toBe(false);
    expect(lane.crash).toBeNull();
    await lane.ended;
    open(other, "hello");
    other.release();
    for (let n = 0; n < 10; n++) expect((await run(pool, "hello")).end).toEqual({ value: null });
  });

  it("refuses everyone in line when the plugin cannot be loaded, with the reason, each time anew", async () => {
    const scripts = ["(() => { throw new Error('no'); })()", "(() => { throw new Error('no'); })()"];
    const good = script;
    const pool = makePool(isolation, {}, { script: () => Promise.resolve(scripts.shift() ?? good) });
    const refused = await Promise.all([refusal(pool.acquire()), refusal(pool.acquire())]);
    expect(refused).toEqual(["load_failed", "load_failed"]);
    scripts.length = 0;
    expect((await run(pool, "hello")).end).toEqual({ value: null });
  });

  it("refuses with the bundler's reason when there is no script", async () => {
    const broken = () => Promise.reject(new BulkheadError("bundle_failed", "It has no entry."));
    const pool = makePool(isolation, {}, { script: broken });
    expect(await refusal(pool.acquire())).toBe("bundle_failed");
  });

  it("gives the next session a new worker when one spins, and only its own session ends with it", async () => {
    const pool = makePool(isolation, { workers: 2, sessions_per_worker: 1 });
    const bad = await run(pool, "spin");
    expect(bad.end).toMatchObject({ error: { code: "unresponsive" } });
    expect(await run(pool, "hello")).toEqual({ end: { value: null }, events: [hello] });
  });

  it("puts a plugin whose workers crash too often in quarantine, and refuses those in line too", async () => {
    const pool = makePool(isolation, { ...one, quarantine_crashes: 2, quarantine_window_ms: 60_000 });
    expect((await run(pool, "spin")).end).toMatchObject({ error: { code: "unresponsive" } });
    const place = await pool.acquire();
    const waiting = refusal(pool.acquire());
    const last = open(place, "spin");
    expect(await last.ended).toMatchObject({ error: { code: "unresponsive" } });
    place.release();
    expect(await waiting).toBe("quarantined");
    expect(await refusal(pool.acquire())).toBe("quarantined");
    expect(pool.health.quarantined).toBe(true);
  });

  it("closes with sessions that run and sessions that wait: all end, and nothing is started afterwards", async () => {
    const pool = makePool(isolation, one);
    const place = await pool.acquire();
    const running = open(place, "wait");
    const waiting = [refusal(pool.acquire()), refusal(pool.acquire())];
    await until(() => pool.queued === 2);
    await pool.close();
    expect(await Promise.all(waiting)).toEqual(["host_closed", "host_closed"]);
    expect(await running.ended).toMatchObject({ error: { code: "host_closed" } });
    place.release();
    expect(await refusal(pool.acquire())).toBe("host_closed");
  });

  it("closes while its first worker is being started", async () => {
    let give!: (text: string) => void;
    const pool = makePool(isolation, {}, { script: () => new Promise((resolve) => (give = resolve)) });
    const waiting = refusal(pool.acquire());
    await until(() => give !== undefined);
    const closing = pool.close();
    give(script);
    await closing;
    expect(await waiting).toBe("host_closed");
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await pool.wardenPid().catch(() => null)).toBeNull();
  });

  it("closes while its first worker evaluates the script, which is no crash", async () => {
    const records: CrashRecord[] = [];
    const crashes: CrashStore = { read: async () => null, write: async (record) => void records.push(record) };
    const spins = "(() => { for (;;); })()";
    const pool = makePool(isolation, { warden_grace_ms: 500 }, { script: () => Promise.resolve(spins), crashes });
    const waiting = refusal(pool.acquire());
    await until(async () => await pool.wardenPid() !== null || isolation === "thread");
    await new Promise((resolve) => setTimeout(resolve, 300));
    await pool.close();
    expect(await waiting).toBe("host_closed");
    expect(records).toEqual([]);
  });

  it("ends workers and warden that nobody uses for a while, no sooner, and starts them again on demand", async () => {
    const pool = makePool(isolation, { ...one, idle_worker_ms: 400 });
    const held = await pool.acquire();
    const pid = await pool.wardenPid();
    await new Promise((resolve) => setTimeout(resolve, 900));
    expect(held.lane.alive).toBe(true);
    held.release();
    await until(() => !held.lane.alive);
    await held.lane.ended;
    expect(held.lane.crash).toBeNull();
    if (isolation === "process") await until(async () => await pool.wardenPid() === null);
    expect((await run(pool, "hello")).end).toEqual({ value: null });
    if (isolation === "process") expect(await pool.wardenPid()).not.toBe(pid);
    expect(pool.health.quarantined).toBe(false);
  });

  it("ends the workers that have been idle longest when too many plugins have idle ones", async () => {
    const idle = new IdleContainers(1);
    const [first, second] = [makePool(isolation, one, { idle }), makePool(isolation, one, { idle })];
    const [early, late] = [await first.acquire(), await second.acquire()];
    early.release();
    late.release();
    await until(() => !early.lane.alive);
    expect(late.lane.alive).toBe(true);
    // One that works does not count, and the other one starts again.
    const busy = await second.acquire();
    expect((await run(first, "hello")).end).toEqual({ value: null });
    const again = await first.acquire();
    again.release();
    busy.release();
    await until(() => !again.lane.alive);
    expect(late.lane.alive).toBe(true);
  });

  it("serves who comes while idle workers are being ended", async () => {
    const pool = makePool(isolation, { ...one, idle_worker_ms: 50 });
    const first = await pool.acquire();
    first.release();
    await until(() => !first.lane.alive);
    const all = await Promise.all([run(pool, "hello"), run(pool, "hello")]);
    expect(all.map(({ end }) => end)).toEqual([{ value: null }, { value: null }]);
  });

  it("gives each place once, whatever order places are taken and given back in", async () => {
    const pool = makePool(isolation, { workers: 2, sessions_per_worker: 2 });
    const held: WorkerPlace[] = [];
    let most = 0;
    const visits = Array.from({ length: 30 }, async (_, n) => {
      const place = await pool.acquire();
      held.push(place);
      most = Math.max(most, held.length);
      await new Promise((resolve) => setTimeout(resolve, n % 5));
      held.splice(held.indexOf(place), 1);
      place.release();
    });
    await Promise.all(visits);
    expect(most).toBeLessThanOrEqual(4);
    expect(pool.queued).toBe(0);
  });
});

describe("PluginPool while the record of its crashes is read", () => {
  /** A pool in quarantine that has just been released, and whose record is slow to read from then on. */
  async function released() {
    let reading = () => {};
    let answer = () => {};
    const begun = new Promise<void>((resolve) => (reading = resolve));
    const held = new Promise<void>((resolve) => (answer = resolve));
    let lifted = false;
    const crashes: CrashStore = {
      read: async (plugin_id) => {
        if (!lifted) return { plugin_id, crashes: [], quarantined_at: "2026-01-01T00:00:00.000Z" };
        reading();
        await held;
        return null;
      },
      write: () => Promise.resolve(),
    };
    let scripts = 0;
    const slow = () => {
      scripts++;
      return new Promise<string>(() => {});
    };
    const pool = makePool("process", one, { crashes, script: slow });
    expect(await refusal(pool.acquire())).toBe("quarantined");
    lifted = true;
    const before = scripts;
    return { pool, begun, answer, started: () => scripts > before };
  }

  it("refuses whoever came when it is closed meanwhile", async () => {
    const { pool, begun, answer } = await released();
    const waiting = refusal(pool.acquire());
    await begun;
    const closing = pool.close();
    answer();
    await closing;
    expect(await waiting).toBe("host_closed");
  });

  it("starts nothing for a session that is interrupted meanwhile", async () => {
    const { pool, begun, answer, started } = await released();
    const controller = new AbortController();
    const waiting = refusal(pool.acquire({ signal: controller.signal }));
    await begun;
    controller.abort(new BulkheadError("interrupted", "It was interrupted."));
    answer();
    expect(await waiting).toBe("interrupted");
    expect(started()).toBe(false);
  });
});

it("PluginPool that is closed before a pause after crashes leaves no timer behind", async () => {
  let answer = () => {};
  let reading = () => {};
  const begun = new Promise<void>((resolve) => (reading = resolve));
  const held = new Promise<void>((resolve) => (answer = resolve));
  let slow = false;
  const crashes: CrashStore = {
    read: async () => {
      if (slow) {
        reading();
        await held;
      }
      return null;
    },
    write: () => Promise.resolve(),
  };
  const changes = { ...one, restart_backoff_ms: 60_000, restart_backoff_max_ms: 60_000 };
  const pool = makePool("process", changes, { crashes });
  for (let times = 0; times < 2; times++) expect((await run(pool, "grow")).end).toHaveProperty("lost");
  slow = true;
  const waiting = refusal(pool.acquire());
  await begun;
  const timers = vi.spyOn(globalThis, "setTimeout");
  const closing = pool.close();
  answer();
  await closing;
  expect(await waiting).toBe("host_closed");
  const long = timers.mock.calls.filter(([, ms]) => (ms ?? 0) > 30_000);
  timers.mockRestore();
  expect(long).toEqual([]);
});
