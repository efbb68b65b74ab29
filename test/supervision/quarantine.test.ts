import { readFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, test } from "vitest";
import { runCli } from "../../core/doors/cli/run-cli.ts";
import { fakeTerminal } from "../doors/cli/fake-terminal.ts";
import { adapterCode, completed, openHost, type TestHost } from "../sessions/host/test-host.ts";
import { checkSession } from "../sessions/session/session-rules.ts";
import { recordedWardens } from "./host-process.ts";

/** Ends its worker: an uncaught rejection cannot be told whose it is. */
const crashes = adapterCode(`    void Promise.reject(new Error("No luck"));
    await ctx.sleep(1e8);`);
const works = adapterCode(`    yield ${completed};`);
const quick = { quarantine_crashes: 3, restart_backoff_ms: 1 };

async function crash(test: TestHost, times: number): Promise<void> {
  for (let count = 0; count < times; count++) {
    const { result } = await test.run("shaky");
    expect(result.error?.code).toBe("crash");
  }
}

describe("a plugin that crashes again and again", () => {
  test("is stopped with a reason and the way out, and no other is", async () => {
    const setting = await openHost();
    await setting.add("shaky", { code: crashes }, { limits: quick });
    await setting.add("solid", { code: works });
    await crash(setting, 3);
    const { result, events } = await setting.run("shaky");
    expect(result).toMatchObject({
      stop_reason: "unavailable",
      error: { code: "quarantined", hint: "bulkhead plugin release shaky" },
    });
    expect(result.error?.message).toMatch(/crashed 3 times in a short time. The last crash: .*No luck/);
    expect(checkSession(events)).toEqual([]);
    expect(events.filter(({ event }) => event.type === "attempt_started")).toEqual([]);
    expect((await setting.run("solid")).result.outcome).toBe("completed");
    const report = await setting.host.probe("shaky");
    expect(report).toMatchObject({ availability: "disabled", next_step: "bulkhead plugin release shaky" });
    const [record, ...others] = await setting.host.quarantined();
    expect(others).toEqual([]);
    expect(record).toMatchObject({
      plugin_id: "shaky",
      crashes: [{ code: "crash" }, { code: "crash" }, { code: "crash" }],
    });
  });

  test("stays stopped over a restart of the host, until it is released", async () => {
    const setting = await openHost();
    await setting.add("shaky", { code: crashes }, { limits: quick });
    await crash(setting, 2);
    await setting.host.close();
    // Crashes of the host before count: a host for each session must not make a plugin forgiven.
    const second = await openHost({ root: setting.root, stateDir: setting.stateDir });
    await second.add("shaky", { code: crashes }, { limits: quick });
    await crash(second, 1);
    await second.host.close();
    const third = await openHost({ root: setting.root, stateDir: setting.stateDir });
    await third.add("shaky", { code: works }, { limits: quick });
    expect((await third.run("shaky")).result.error?.code).toBe("quarantined");
    expect(await third.host.release("shaky")).toBe(true);
    expect(await third.host.release("shaky")).toBe(false);
    expect((await third.run("shaky")).result.outcome).toBe("completed");
    expect(await third.host.quarantined()).toEqual([]);
  });

  test("is released in a running host by the command, which another process runs", async () => {
    const setting = await openHost();
    await setting.add("shaky", { code: crashes }, { limits: quick });
    await crash(setting, 3);
    expect((await setting.run("shaky")).result.error?.code).toBe("quarantined");
    const other = await openHost({ root: setting.root, stateDir: setting.stateDir });
    await other.add("shaky-too", { code: works });
    const cli = async (...args: string[]) => {
      const terminal = fakeTerminal({ args: ["--state-dir", setting.stateDir, ...args], cwd: setting.root });
      const code = await runCli(terminal, {
        createHost: () => Promise.resolve({ ...other.host, close: async () => {} }),
      });
      return { code, text: terminal.out() };
    };
    await other.host.registry.register(join(setting.root, "packages", "shaky"));
    expect((await cli("plugin", "list")).text).toMatch(/shaky .*quarantined/);
    expect((await cli("plugin", "list", "--json")).text).toContain('"quarantined_at":"');
    const { text } = await cli("plugin", "explain", "shaky");
    expect(text).toMatch(/The last\s+crash:/);
    expect(text).toContain("bulkhead plugin release shaky");
    expect(await cli("plugin", "release", "shaky")).toEqual({ code: 0, text: "Released: shaky may run again.\n" });
    expect((await cli("plugin", "release", "shaky")).text).toMatch(/^Nothing to release/);
    expect((await cli("plugin", "release", "nobody")).code).toBe(5);
    expect((await setting.run("shaky")).result.error?.code).toBe("crash");
  });

  test("has those in line told how long it waits, and lets them through in the end", async () => {
    const setting = await openHost();
    const limits = { ...quick, quarantine_crashes: 100, restart_backoff_ms: 300 };
    const code = adapterCode(`    if (request.prompt === "go") return yield ${completed};
    void Promise.reject(new Error("No luck"));
    await ctx.sleep(1e8);`);
    await setting.add("shaky", { code }, { limits });
    for (let count = 0; count < 3; count++) await setting.run("shaky", { prompt: "crash" });
    const { result, events } = await setting.run("shaky");
    expect(result.outcome).toBe("completed");
    const queued = events.flatMap(({ event }) => (event.type === "queued" ? [event] : []));
    expect(queued).toHaveLength(1);
    expect(queued[0]?.retry_in_ms).toBeGreaterThan(0);
    expect(queued[0]?.retry_in_ms).toBeLessThanOrEqual(600);
  });

  test("keeps no host from closing while it waits", async () => {
    const setting = await openHost();
    const limits = { ...quick, quarantine_crashes: 100, restart_backoff_ms: 30_000 };
    await setting.add("shaky", { code: crashes }, { limits });
    await crash(setting, 2);
    const { workdir, host } = setting;
    const session = await host.runSession({ workdir, prompt: "go", retry: "never" }, {
      adapter: "shaky",
      artifacts: "none",
    });
    for await (const { event } of session.events()) if (event.type === "queued") break;
    const began = performance.now();
    await host.close();
    expect(performance.now() - began).toBeLessThan(20_000);
    expect((await session.result()).stop_reason).toBe("interrupted");
  });

  test("counts the end of one warden as one crash, however many workers it had", async () => {
    const setting = await openHost();
    const code = adapterCode(`    yield { type: "progress", message: "on" };
    await ctx.sleep(1e8);`);
    const { host, workdir, stateDir } = setting;
    await setting.add("shaky", { code }, { limits: { ...quick, workers: 2, sessions_per_worker: 1 } });
    const sessions = [];
    for (let count = 0; count < 2; count++) {
      const session = await host.runSession({ workdir, prompt: "go", retry: "never" }, {
        adapter: "shaky",
        artifacts: "none",
      });
      for await (const { event } of session.events()) if (event.type === "progress") break;
      sessions.push(session);
    }
    const [warden, ...others] = await recordedWardens(stateDir);
    expect(others).toEqual([]);
    process.kill(-warden!, "SIGKILL");
    for (const session of sessions) expect((await session.result()).stop_reason).toBe("crash");
    await host.close();
    const { crashes: counted } = JSON.parse(await readFile(join(stateDir, "crashes", "shaky.json"), "utf8"));
    expect(counted).toHaveLength(1);
  });
});
