import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { defaultLimits } from "../../../core/ground/config/limits.ts";
import { type SpareContainer, startSpareContainer } from "../../../core/walls/pool/spare-container.ts";
import { type ChildLedger, startChildLedger } from "../../../core/ground/platform/processes/child-ledger.ts";
import { defaultOsWallUses } from "../../../core/ground/platform/os-walls/os-wall.ts";
import { processIsAlive } from "../../../core/ground/platform/processes/process-alive.ts";
import { closePools, makePool, open, quick } from "./pool-fixture.ts";

const terms = { limits: { ...defaultLimits, ...quick }, osWalls: defaultOsWallUses };

let folder: string;
let children: ChildLedger;
let spare: SpareContainer;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "bulkhead-test-"));
  children = startChildLedger(join(folder, "children.jsonl"), { hostVersion: "0.0.0" });
  spare = startSpareContainer(terms, { children });
});

afterEach(async () => {
  await closePools();
  await spare.close();
  await children.close();
  await rm(folder, { recursive: true, force: true });
});

describe("startSpareContainer", () => {
  it("serves the first plugin on the same terms, and no other", async () => {
    const [first, second] = [makePool("process", {}, { spare }), makePool("process", {}, { spare })];
    const places = await Promise.all([first.acquire(), second.acquire()]);
    for (const place of places) {
      const entry = open(place, "hello");
      await entry.ended;
      expect(entry.events).toEqual([{ type: "output", stream: "stdout", data: "hello" }]);
      place.release();
    }
    const pids = await Promise.all([first.wardenPid(), second.wardenPid()]);
    expect(new Set(pids).size).toBe(2);
    expect(spare.take(terms)).toBeNull();
  });

  it("starts further workers in the same warden", async () => {
    const pool = makePool("process", { sessions_per_worker: 1 }, { spare: null });
    const warm = makePool("process", { workers: terms.limits.workers }, { spare });
    for (const own of [pool, warm]) {
      const entries = await Promise.all(["a", "b"].map(async () => open(await own.acquire(), "hello")));
      await Promise.all(entries.map(({ ended }) => ended));
    }
    expect(await warm.wardenPid()).not.toBe(await pool.wardenPid());
  });

  it("is not given to a plugin that is held to other terms", async () => {
    expect(spare.take({ ...terms, limits: { ...terms.limits, rss_mb: 64 } })).toBeNull();
    expect(spare.take({ ...terms, osWalls: { ...terms.osWalls, prlimit: "off" } })).toBeNull();
    const container = await spare.take(terms);
    expect(container?.condemned).toBe(false);
    await container?.close();
  });

  it("ends a warden that nobody took", async () => {
    const pid = await vi.waitFor(async () => {
      const lines = (await readFile(join(folder, "children.jsonl"), "utf8")).trim().split("\n");
      return (JSON.parse(lines[1]!) as { pid: number }).pid;
    });
    expect(processIsAlive(pid)).toBe(true);
    await spare.close();
    expect(processIsAlive(pid)).toBe(false);
    expect(spare.take(terms)).toBeNull();
  });
});
