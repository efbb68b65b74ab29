import { describe, expect, test } from "vitest";
import type { CrashRecord } from "../../../plugin-sdk/plugin-report.ts";
import { type CrashStore, PluginHealth } from "../../../core/walls/pool/plugin-health.ts";

const limits = { quarantine_crashes: 3, quarantine_window_ms: 300_000 };
const crash = { code: "crash" as const, message: "It fell over." };

function memoryStore(): CrashStore & { records: Map<string, CrashRecord>; broken: boolean } {
  const records = new Map<string, CrashRecord>();
  return {
    records,
    broken: false,
    read: (id) => Promise.resolve(structuredClone(records.get(id) ?? null)),
    write(record) {
      if (this.broken) return Promise.reject(new Error("No space."));
      records.set(record.plugin_id, structuredClone(record));
      return Promise.resolve();
    },
  };
}

describe("PluginHealth", () => {
  test("puts a plugin in quarantine at the last allowed crash, with reason, times and the way out", () => {
    const health = new PluginHealth({ pluginId: "shaky", limits });
    health.crashed(crash);
    health.crashed(crash);
    expect(health.quarantined).toBe(false);
    expect(health.refusal()).toBeNull();
    health.crashed({ code: "out_of_memory", message: "It took all." });
    expect(health.quarantined).toBe(true);
    const refusal = health.refusal();
    expect(refusal).toMatchObject({ code: "quarantined", hint: "bulkhead plugin release shaky" });
    expect(refusal?.message).toMatch(
      /^Plugin "shaky" is in quarantine since \d{4}-.*Z: it crashed 3 times in a short time. The last crash: It took all.$/,
    );
    const { crashes } = refusal?.details as unknown as CrashRecord;
    expect(crashes.map(({ code }) => code)).toEqual(["crash", "crash", "out_of_memory"]);
  });

  test("is known to the next host, and lifted by whoever removes the record", async () => {
    const store = memoryStore();
    const first = new PluginHealth({ pluginId: "shaky", limits, store });
    for (let times = 0; times < 3; times++) first.crashed(crash);
    await first.settled();
    const second = new PluginHealth({ pluginId: "shaky", limits, store });
    expect(second.quarantined).toBe(false);
    expect(await second.refresh()).toBe(false);
    expect(second.quarantined).toBe(true);
    store.records.delete("shaky");
    for (const health of [first, second]) {
      expect(await health.refresh()).toBe(true);
      expect(health.refusal()).toBeNull();
    }
    first.crashed(crash);
    expect(first.quarantined).toBe(false);
  });

  test("counts crashes of earlier hosts, but not those before the window or of a clock that was ahead", async () => {
    const store = memoryStore();
    const at = (ms: number) => new Date(Date.now() + ms).toISOString();
    const crashes = [at(-400_000), at(-1000), at(+500_000)].map((time) => ({ at: time, ...crash }));
    store.records.set("shaky", { plugin_id: "shaky", crashes, quarantined_at: null });
    const health = new PluginHealth({ pluginId: "shaky", limits, store });
    await health.refresh();
    health.crashed(crash);
    expect(health.quarantined).toBe(false);
    health.crashed(crash);
    expect(health.quarantined).toBe(true);
  });

  test("holds on to what it knows while the store cannot be written", async () => {
    const store = memoryStore();
    const health = new PluginHealth({ pluginId: "shaky", limits, store });
    store.broken = true;
    for (let times = 0; times < 3; times++) health.crashed(crash);
    expect(await health.refresh()).toBe(false);
    expect(health.quarantined).toBe(true);
  });

  test("does not forget a crash that happens while the store is read", async () => {
    const store = memoryStore();
    const health = new PluginHealth({ pluginId: "shaky", limits, store });
    for (let times = 0; times < 2; times++) health.crashed(crash);
    await health.settled();
    const { read } = store;
    let answer = () => {};
    store.read = async (id) => {
      const found = await read(id);
      await new Promise<void>((resolve) => (answer = resolve));
      return found;
    };
    const refreshing = health.refresh();
    await new Promise((resolve) => setTimeout(resolve, 0));
    health.crashed(crash);
    answer();
    expect(await refreshing).toBe(false);
    expect(health.quarantined).toBe(true);
  });

  test("keeps no more crashes than it counts, and no endless message", () => {
    const health = new PluginHealth({ pluginId: "shaky", limits });
    for (let times = 0; times < 100; times++) health.crashed({ code: "crash", message: "x".repeat(1e6) });
    const { crashes } = health.refusal()?.details as unknown as CrashRecord;
    expect(crashes).toHaveLength(3);
    expect(JSON.stringify(crashes).length).toBeLessThan(10_000);
  });
});
