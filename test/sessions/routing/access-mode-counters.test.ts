import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { accessModeState } from "../../../core/sessions/routing/access-mode-state.ts";
import { AccessModeCounters, longestLimitMs } from "../../../core/sessions/routing/access-mode-counters.ts";
import { countWithin, windows } from "../../../core/sessions/routing/rolling-counts.ts";
import { openUseFiles } from "../../../core/sessions/routing/use-files.ts";
import { api, subscription } from "./modes.ts";

const now = Date.UTC(2026, 0, 1, 12, 0, 0);
const plan = { adapterId: "alpha", mode: subscription() };
let root = "";

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "bulkhead-uses-"));
});
afterEach(() => rm(root, { recursive: true }));

async function open(part = "host-1", time: () => number = () => now): Promise<AccessModeCounters> {
  const folder = join(root, part);
  await mkdir(folder, { recursive: true });
  return new AccessModeCounters({ store: openUseFiles({ root, folder }), now: time, writeGapMs: 1, othersAgeMs: 0 });
}

function today(counters: AccessModeCounters, used = plan): { requests: number; tokens: number } {
  return countWithin(counters.useOf(used).spans, windows.day, now);
}

describe("AccessModeCounters", () => {
  test.each([1e300, Number.MAX_VALUE, 9e15])("a limit of %d ms is believed for a month", async (waitMs) => {
    const counters = await open();
    counters.limited(plan, waitMs);
    expect(counters.useOf(plan).limitedUntil).toBe(now + longestLimitMs);
    const { status } = accessModeState(plan.mode, counters.useOf(plan), { now });
    expect(status).toMatchObject({ status: "rate_limited", reset_at: "2026-02-01T12:00:00.000Z" });
    await counters.settled();
  });

  test("a provider's limits are shown until they end, and hold where they leave nothing", async () => {
    let time = now;
    const counters = await open("host-1", () => time);
    const at = (ms: number) => new Date(now + ms).toISOString();
    const some = { name: "requests", limit: 50, remaining: 3, reset_at: at(30_000) };
    const spent = { name: "input_tokens", limit: 1000, remaining: 0, reset_at: at(10_000) };
    counters.told(plan, { status: 200, windows: [some], retry_ms: null });
    const state = () => accessModeState(plan.mode, counters.useOf(plan), { now: time }).status;
    expect(state()).toMatchObject({ status: "available", quota: [some] });
    counters.told(plan, { status: 429, windows: [some, spent], retry_ms: null });
    expect(state()).toMatchObject({ status: "rate_limited", reset_at: at(10_000), quota: [some, spent] });
    expect(counters.isLimited(plan)).toBe(true);
    time += 10_001;
    expect(state()).toMatchObject({ status: "available", quota: [some] });
    expect(counters.isLimited(plan)).toBe(false);
    counters.told(plan, { status: 429, windows: [], retry_ms: 5000 });
    expect(state()).toMatchObject({ status: "rate_limited", estimated_wait: 5 });
    counters.told(plan, { status: 429, windows: [some], retry_ms: null });
    expect(counters.isLimited(plan)).toBe(true);
    // A model that answers and leaves something can be asked.
    counters.told(plan, { status: 200, windows: [some], retry_ms: null });
    expect(counters.isLimited(plan)).toBe(false);
    time += 30_000;
    expect(state()).not.toHaveProperty("quota");
    await counters.settled();
  });

  test("a file with times that no calendar has says nothing", async () => {
    const folder = join(root, "host-1");
    await mkdir(folder, { recursive: true });
    const uses = [{ adapter_id: "alpha", access_mode: "subscription:pro", spans: [], limited_until: 1e300 }];
    await writeFile(join(folder, "access-modes.json"), JSON.stringify({ v: 1, uses }));
    expect(await openUseFiles({ root, folder }).readOwn()).toEqual([]);
  });

  test("counts each mode of each adapter for itself", async () => {
    const counters = await open();
    counters.requested(plan);
    counters.requested(plan);
    counters.used(plan, 70);
    counters.used(plan, null);
    expect(today(counters)).toEqual({ requests: 2, tokens: 70 });
    for (const other of [{ ...plan, mode: api() }, { ...plan, mode: null }, { ...plan, adapterId: "beta" }]) {
      expect(counters.useOf(other)).toEqual({ spans: [], limitedUntil: null });
    }
    await counters.settled();
  });

  test("what was counted and reported is there after a restart, with what came before it was read", async () => {
    const before = await open();
    before.requested(plan);
    before.limited(plan, 90_000);
    await before.settled();
    const after = await open();
    after.requested(plan);
    await after.refresh();
    expect(today(after)).toEqual({ requests: 2, tokens: 0 });
    expect(after.useOf(plan).limitedUntil).toBe(now + 90_000);
    await after.settled();
  });

  test("hosts of one state folder know each other's counts, and none is lost", async () => {
    const hosts = await Promise.all(["host-1", "host-2", "host-3"].map((part) => open(part)));
    for (let round = 0; round < 20; round++) for (const host of hosts) host.requested(plan);
    hosts[1]!.limited(plan, 5000);
    await Promise.all(hosts.map((host) => host.settled()));
    for (const host of hosts) {
      await host.refresh();
      expect(today(host)).toEqual({ requests: 60, tokens: 0 });
      expect(host.useOf(plan).limitedUntil).toBe(now + 5000);
    }
  });

  test("a later and shorter limit does not end an earlier one", async () => {
    const counters = await open();
    counters.limited(plan, 60_000);
    counters.limited(plan, 1000);
    expect(counters.useOf(plan).limitedUntil).toBe(now + 60_000);
    await counters.settled();
  });

  test("what says nothing any more is not kept, and no draft stays behind", async () => {
    let time = now;
    const counters = await open("host-1", () => time);
    counters.requested(plan);
    await counters.settled();
    time += 2 * windows.day;
    counters.requested({ ...plan, adapterId: "beta" });
    await counters.settled();
    const text = await readFile(join(root, "host-1", "access-modes.json"), "utf8");
    expect(JSON.parse(text).uses.map((use: { adapter_id: string }) => use.adapter_id)).toEqual(["beta"]);
    expect(await readdir(join(root, "host-1"))).toEqual(["access-modes.json"]);
  });

  test.each(["", "{", "[]", '{"v":1,"uses":[{"adapter_id":"alpha"}]}', '{"v":2,"uses":[]}'])(
    "a file that holds %j says nothing and is written anew",
    async (text) => {
      await mkdir(join(root, "host-1"), { recursive: true });
      await writeFile(join(root, "host-1", "access-modes.json"), text);
      const counters = await open();
      await counters.refresh();
      expect(today(counters).requests).toBe(0);
      counters.requested(plan);
      await counters.settled();
      const again = await open();
      await again.refresh();
      expect(today(again).requests).toBe(1);
    },
  );

  test("a store that cannot be written costs no session, and what was counted goes with the next write", async () => {
    const counters = await open();
    await rm(join(root, "host-1"), { recursive: true });
    counters.requested(plan);
    await counters.settled();
    expect(today(counters).requests).toBe(1);
    await mkdir(join(root, "host-1"));
    counters.requested(plan);
    await counters.settled();
    const again = await open();
    await again.refresh();
    expect(today(again).requests).toBe(2);
  });
});
