import process from "node:process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { closeInSteps } from "../../core/sessions/host/close-host.ts";
import { readRow } from "../../core/ground/platform/processes/process-rows.ts";
import { adapterCode, openHost, ownChildren, type TestHost, until, writePlugin } from "../sessions/host/test-host.ts";
import { checkSession } from "../sessions/session/session-rules.ts";
import { recordedWardens, startHost } from "./host-process.ts";

const limits = { agent_grace_ms: 300, teardown_timeout_ms: 200, warden_grace_ms: 300, heartbeat_timeout_ms: 60_000 };

/** Starts a session and waits until its adapter runs. */
async function begin({ host, workdir }: TestHost, { prompt = "go", adapter = "stuck" } = {}) {
  const session = await host.runSession({ workdir, prompt, retry: "never" }, { adapter, artifacts: "none" });
  const events = [];
  for await (const envelope of session.events()) {
    events.push(envelope);
    if (envelope.event.type === "progress") break;
  }
  return session;
}

describe("Host.close", () => {
  test("ends in time when adapters spin, are deaf to their signal and their end, and search for ever", async () => {
    const setting = await openHost();
    const codes = {
      spins: "for (;;);",
      deaf: "try { for (;;) await new Promise(() => {}); } finally { for (;;); }",
      searches: "[].indexOf.call({ length: 2 ** 53 - 1 }, 1);",
    };
    const sessions = await Promise.all(
      Object.entries(codes).map(async ([id, code]) => {
        const on = adapterCode(`    yield { type: "progress", message: "on" };\n    await ctx.sleep(20);\n    ${code}`);
        await setting.add(id, { code: on }, { limits });
        return await begin(setting, { adapter: id });
      }),
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
    const began = performance.now();
    await setting.host.close();
    expect(performance.now() - began).toBeLessThan(30_000);
    for (const session of sessions) expect((await session.result()).stop_reason).toBe("interrupted");
    await until(async () => (await ownChildren()).every(({ command }) => !command.includes("warden.js")));
  });

  test("ends in time when the warden is stopped", async () => {
    const setting = await openHost();
    await setting.add("stuck", {
      code: adapterCode(`    yield { type: "progress", message: "on" };
    await ctx.sleep(1e8);`),
    }, { limits });
    const session = await begin(setting);
    const wardens = await recordedWardens(setting.stateDir);
    expect(wardens).toHaveLength(1);
    for (const pid of wardens) process.kill(-pid, "SIGSTOP");
    const began = performance.now();
    await setting.host.close();
    expect(performance.now() - began).toBeLessThan(30_000);
    expect((await session.result()).stop_reason).toBe("interrupted");
    expect(wardens.filter((pid) => readRow(pid)?.zombie === false)).toEqual([]);
  });

  test("kills programs whose grace is longer than the host's time, and the log stays whole", async () => {
    const setting = await openHost();
    const manifest = `permissions:\n  run:\n    - { binary: /bin/sh, args: ["-c {*}"] }\n`;
    await setting.add("stuck", {
      manifest,
      code: adapterCode(`    const child = await ctx.run("/bin/sh", ["-c", request.prompt]);
    for await (const data of child.stdout) yield { type: "progress", message: data };`),
    }, { grant: { run: [{ binary: "/bin/sh" }] }, limits: { ...limits, agent_grace_ms: 3_600_000 } });
    const session = await begin(setting, { prompt: `trap "" TERM; echo on; while :; do sleep 0.1; done` });
    const began = performance.now();
    await setting.host.close();
    expect(performance.now() - began).toBeLessThan(35_000);
    expect(setting.logs.some(({ message }) => /ending the sessions took longer/.test(message))).toBe(true);
    expect((await session.result()).stop_reason).toBe("interrupted");
    const next = await openHost({ root: setting.root, stateDir: setting.stateDir });
    const events = [];
    for await (const envelope of next.host.events({ after: 0 })) {
      events.push(envelope);
      if (envelope.event.type === "session_ended") break;
    }
    expect(checkSession(events)).toEqual([]);
    expect(events.at(-1)?.event).toMatchObject({ result: { stop_reason: "interrupted" } });
  }, 60_000);
});

describe("a process whose thread cannot be ended", () => {
  test("ends all the same, by the command line's last step", async () => {
    const setting = await openHost();
    const { root, stateDir, workdir } = setting;
    await setting.host.close();
    const folder = await writePlugin(join(root, "packages", "stuck"), "stuck", {
      code: adapterCode(`    yield { type: "progress", message: "on" };
    await ctx.sleep(20);
    [].indexOf.call({ length: 2 ** 53 - 1 }, 1);`),
    });
    const settings = { trusted: true, isolation: "thread" as const, limits };
    const host = startHost({ stateDir, workdir, folder, settings, prompt: "go", end: "close" });
    const exited = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
      host.child.once("exit", (code, signal) => resolve({ code, signal }));
    });
    expect((await host.seen(({ result }) => result !== undefined)).result?.stop_reason).toBe("interrupted");
    await host.seen(({ closed }) => closed === true);
    expect(["SIGKILL", null]).toContain((await exited).signal);
  }, 60_000);

  test("a warden with such a thread does not outlive its host", async () => {
    const setting = await openHost();
    const { root, stateDir, workdir } = setting;
    await setting.host.close();
    const folder = await writePlugin(join(root, "packages", "stuck"), "stuck", {
      code: adapterCode(`    yield { type: "progress", message: "on" };
    await ctx.sleep(20);
    [].indexOf.call({ length: 2 ** 53 - 1 }, 1);`),
    });
    const host = startHost({ stateDir, workdir, folder, settings: { limits }, prompt: "go" });
    await host.seen(({ envelope }) => envelope?.event.type === "progress");
    const wardens = await recordedWardens(setting.stateDir);
    expect(wardens).toHaveLength(1);
    await host.kill();
    await until(() => wardens.every((pid) => readRow(pid)?.zombie !== false));
  });
});

describe("closeInSteps", () => {
  test("does every step in order, leaves late ones behind, and tells of them and of those that fail", async () => {
    const done: string[] = [];
    const told: string[] = [];
    const step = (name: string, act: () => Promise<unknown>) => ({
      name,
      ms: 50,
      act: () => (done.push(name), act()),
    });
    await closeInSteps([
      step("first", () => Promise.resolve()),
      step("hanging", () => new Promise(() => {})),
      step("failing", () => Promise.reject(new Error("No."))),
      step("throwing", () => {
        throw new Error("Never.");
      }),
      step("last", () => Promise.resolve()),
    ], (message) => void told.push(message));
    expect(done).toEqual(["first", "hanging", "failing", "throwing", "last"]);
    expect(told).toEqual([
      "Closing the host: hanging took longer than 50 ms and was left behind.",
      "Closing the host: failing failed: No.",
      "Closing the host: throwing failed: Never.",
    ]);
  });
});
