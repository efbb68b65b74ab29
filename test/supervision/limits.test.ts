import { describe, expect, test } from "vitest";
import { defaultLimits } from "../../core/ground/config/limits.ts";
import { listFiles, readSource } from "../structure/source.ts";
import { adapterCode, completed, errorOf, openHost } from "../sessions/host/test-host.ts";

const floods = (count: string) =>
  adapterCode(`    for (let n = 0; n < ${count}; n++) yield { type: "progress", message: "x" };
    yield ${completed};`);

describe("limits", () => {
  test.each(Object.keys(defaultLimits).map((key) => [key]))("%s is held to somewhere", (key) => {
    const files = listFiles("core").filter((path) => path !== "core/ground/config/limits.ts");
    const uses = files.filter((path) => new RegExp(`(limits\\.|[{,] *)${key}\\b`).test(readSource(path)));
    expect(uses).not.toEqual([]);
  });

  test("of the operator are the most that a request and a manifest may ask for", async () => {
    const setting = await openHost();
    const limits = { timeout_ms: 50_000, idle_timeout_ms: 40_000 };
    await setting.add("one", { code: floods("1"), manifest: "defaults: { timeout_ms: 60000 }\n" }, { limits });
    const times = async (request = {}) => {
      const { timeout_ms, idle_timeout_ms } = (await setting.run("one", request)).result.effective;
      return { timeout_ms, idle_timeout_ms };
    };
    expect(await times()).toEqual(limits);
    expect(await times({ timeout_ms: 70_000, idle_timeout_ms: 80_000 })).toEqual(limits);
    expect(await times({ timeout_ms: 30_000, idle_timeout_ms: 20_000 })).toEqual({
      timeout_ms: 30_000,
      idle_timeout_ms: 20_000,
    });
  });

  test("events: a session that has more is ended, and has just so many", async () => {
    const setting = await openHost();
    await setting.add("one", { code: floods("1e9") }, { limits: { events: 5000 } });
    const { result, events } = await setting.run("one");
    expect(result.error).toMatchObject({ code: "limit_exceeded" });
    expect(events.filter(({ source }) => source === "agent")).toHaveLength(5000);
  });

  test("event_bytes_total: a session that has more is ended", async () => {
    const setting = await openHost();
    const code = adapterCode(`    for (;;) yield { type: "output", stream: "stdout", data: "x".repeat(10_000) };`);
    await setting.add("one", { code }, { limits: { event_bytes_total: 1_000_000 } });
    const { result, events } = await setting.run("one");
    expect(result.error).toMatchObject({ code: "limit_exceeded" });
    expect(events.filter(({ source }) => source === "agent").length).toBeLessThanOrEqual(100);
  });

  test("event_bytes_total: pieces of a few characters count as whole events", async () => {
    const setting = await openHost();
    const code = adapterCode(`    for (;;) yield { type: "output", stream: "stdout", data: "x" };`);
    await setting.add("one", { code }, { limits: { event_bytes_total: 100_000 } });
    const { result, events } = await setting.run("one");
    expect(result.error).toMatchObject({ code: "limit_exceeded", message: /100000 bytes/ as unknown as string });
    const whole = '{"type":"output","stream":"stdout","data":"x"},'.length;
    expect(events.filter(({ source }) => source === "agent").length).toBeLessThanOrEqual(100_000 / whole);
  });

  test("events_per_second: what is more waits, and none is lost", async () => {
    const setting = await openHost();
    await setting.add("one", { code: floods("60") }, { limits: { events_per_second: 40, event_credit: 10 } });
    const began = performance.now();
    const { result, events } = await setting.run("one");
    expect(result.outcome).toBe("completed");
    expect(events.filter(({ source }) => source === "agent")).toHaveLength(61);
    // 40 at once, then 10 more only after their time; the last ones may be out before their credit is due.
    expect(performance.now() - began).toBeGreaterThan(200);
  });

  test("sessions: one more than allowed is refused at once", async () => {
    const setting = await openHost();
    const { host, workdir } = setting;
    await setting.add("one", { code: adapterCode("    await ctx.sleep(1e8);") }, { limits: { sessions: 2 } });
    const start = () =>
      host.runSession({ workdir, prompt: "go", retry: "never" }, { adapter: "one", artifacts: "none" });
    const [first] = [await start(), await start()];
    expect(await errorOf(start())).toMatchObject({ code: "busy", message: /2 sessions/ as unknown as string });
    await first.interrupt();
    await (await start()).interrupt();
  });

  test("cpu_ms: a session that goes on and on computing in small steps is ended", async () => {
    const setting = await openHost();
    // Answers heartbeats, never keeps a core for long, and yields too little to be called a flood.
    const code = adapterCode(`    for (;;) {
      for (let n = 0; n < 2e7; n++) ;
      await ctx.sleep(5);
    }`);
    const limits = { cpu_ms: 800, heartbeat_interval_ms: 100 };
    await setting.add("one", { code }, { limits });
    const { result } = await setting.run("one", { timeout_ms: 25_000 });
    expect(result.error).toMatchObject({ code: "limit_exceeded" });
    expect(result.error?.message).toMatch(/more than 800 ms of processor time/);
  });
});
