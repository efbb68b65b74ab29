import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { probeOsWalls } from "../../core/ground/platform/os-walls/probe.ts";
import type { SessionHandle } from "../../core/sessions/host/session-host.ts";
import {
  adapterCode,
  childrenLeft,
  completed,
  errorOf,
  openHost,
  ownChildren,
  until,
} from "../sessions/host/test-host.ts";

const quick = {
  heartbeat_interval_ms: 100,
  heartbeat_timeout_ms: 1500,
  teardown_timeout_ms: 300,
  warden_grace_ms: 300,
};
const patient = adapterCode("while (!ctx.signal.aborted) await ctx.sleep(50).catch(() => {});");
const plain = adapterCode(`yield { type: "progress", message: "here" }; yield ${completed};`);

test("H1 a plugin has one process however many sessions it runs, and it is the last in line for a core", async () => {
  const { host, add, workdir } = await openHost();
  await add("acme", { code: patient }, { limits: quick });
  const start = () =>
    host.runSession({ workdir, prompt: "go", retry: "never" }, { adapter: "acme", artifacts: "none" });
  const sessions = await Promise.all(Array.from({ length: 12 }, start));
  await until(async () => (await wardens()).length > 0);
  expect(await wardens()).toHaveLength(1);
  const [warden] = await wardens();
  const own = await niceness("self");
  const least = await hasPriorities() ? Math.min(19, own + 1) : own;
  await until(async () => await niceness(warden!.pid) >= least);
  await Promise.all(sessions.map((session) => session.interrupt()));
}, 30_000);

test("H3 a plugin that asks without pause leaves others their turn", async () => {
  const { host, add, run, workdir } = await openHost();
  const asking = adapterCode(`
    const long = "a/".repeat(2000);
    while (!ctx.signal.aborted) {
      await Promise.allSettled(Array.from({ length: 50 }, (_, n) => n % 2 ? ctx.fs.readText(long + n) : ctx.kv.set("k", n)));
    }`);
  const permissions = { manifest: "permissions: { read: [workdir], kv: true }" };
  await add("greedy", { code: asking, ...permissions }, { grant: { read: ["workdir"], kv: true } });
  await add("modest", {
    code: adapterCode(`
    await ctx.kv.set("x", 1);
    await ctx.fs.list(".");
    yield ${completed};`),
    ...permissions,
  }, { grant: { read: ["workdir"], kv: true } });
  const greedy = await host.runSession({ workdir, prompt: "go", retry: "never" }, {
    adapter: "greedy",
    artifacts: "none",
  });
  const { result } = await run("modest");
  expect(result.outcome).toBe("completed");
  expect((await greedy.interrupt()).stop_reason).toBe("interrupted");
}, 40_000);

test("H11 sessions that never end fill their own plugin's places and line, and no other's", async () => {
  const { host, add, run, workdir } = await openHost();
  await add("hog", { code: patient }, {
    limits: { ...quick, workers: 1, sessions_per_worker: 2, queue: 2, sessions: 4 },
  });
  await add("other", { code: plain });
  const start = () => host.runSession({ workdir, prompt: "go", retry: "never" }, { adapter: "hog", artifacts: "none" });
  const sessions: SessionHandle[] = [];
  for (let count = 0; count < 4; count++) {
    const session = await start();
    sessions.push(session);
    // Two run before two wait: those that wait for the first start of a process stand in the line as well.
    for await (const { event } of session.events()) {
      if (event.type === (count < 2 ? "attempt_started" : "queued")) break;
    }
  }
  const refused = await start().then(
    (session) => session.result().then(({ error }) => error?.code),
    ({ code }) => code as string,
  );
  expect(["busy", "limit_exceeded"]).toContain(refused);
  expect((await run("other")).result.outcome).toBe("completed");
  const results = await Promise.all(sessions.map((session) => session.interrupt()));
  expect(new Set(results.map(({ stop_reason }) => stop_reason))).toEqual(new Set(["interrupted"]));
  // The places are free again.
  const again = await start();
  expect((await again.interrupt()).stop_reason).toBe("interrupted");
}, 40_000);

test("H13 a host closes within its deadline while adapters spin, never settle and swallow every signal", async () => {
  const { host, add, workdir } = await openHost();
  const codes = {
    spinning: "for (;;);",
    silent: "await new Promise(() => {});",
    clinging: "try { await ctx.sleep(1e8); } finally { for (;;) await null; }",
    microtasks: "for (;;) await null;",
  };
  const begin = async ([id, then]: [string, string]) => {
    const code = adapterCode(`yield { type: "progress", message: "on" }; await ctx.sleep(20); ${then}`);
    await add(id, { code }, { limits: { ...quick, heartbeat_timeout_ms: 60_000 } });
    const session = await host.runSession({ workdir, prompt: "go", retry: "never" }, {
      adapter: id,
      artifacts: "none",
    });
    for await (const { event } of session.events()) if (event.type === "progress") break;
    return session;
  };
  const sessions = await Promise.all(Object.entries(codes).map(begin));
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(await wardens()).toHaveLength(sessions.length);
  const started = performance.now();
  await host.close();
  expect(performance.now() - started).toBeLessThan(25_000);
  for (const session of sessions) expect((await session.result()).outcome).toBe("error");
  expect(await childrenLeft()).toEqual([]);
  expect((await errorOf(host.runSession({ workdir, prompt: "go", retry: "never" }, { adapter: "silent" }))).code).toBe(
    "host_closed",
  );
}, 60_000);

test("H14 when memory runs out the system ends a plugin's process before the host", async () => {
  const { host, add, workdir } = await openHost();
  await add("acme", { code: patient }, { limits: quick });
  const session = await host.runSession({ workdir, prompt: "go", retry: "never" }, {
    adapter: "acme",
    artifacts: "none",
  });
  await until(async () => (await wardens()).length > 0);
  const [warden] = await wardens();
  const score = async (pid: number | "self") => Number(await readFile(`/proc/${pid}/oom_score_adj`, "utf8"));
  const own = await score("self");
  const least = await hasPriorities() ? 1000 : own;
  await until(async () => await score(warden!.pid) >= least);
  await session.interrupt();
}, 30_000);

async function niceness(pid: number | "self"): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "latin1");
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[16]);
}

async function wardens(): Promise<{ pid: number; command: string }[]> {
  return (await ownChildren()).filter(({ command }) => /warden\.js/.test(command));
}

/** Whether this machine has what sets priorities; without it nothing is claimed. */
async function hasPriorities(): Promise<boolean> {
  return (await probeOsWalls()).get("priority")?.active ?? false;
}
