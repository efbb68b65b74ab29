import { spawn } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { adapterCode, completed, errorOf, openHost, writePlugin } from "../sessions/host/test-host.ts";

const onDeno = "Deno" in globalThis;
const root = fileURLToPath(new URL("../..", import.meta.url));

/** Verdicts come soon. */
const limits = {
  heartbeat_interval_ms: 100,
  heartbeat_timeout_ms: 1500,
  load_timeout_ms: 3000,
  teardown_timeout_ms: 300,
  warden_grace_ms: 300,
  restart_backoff_ms: 1,
  restart_backoff_max_ms: 1,
};

test("A6 a probe's answer that loops when it is read ends the worker, and says so", async () => {
  const { host, add } = await openHost();
  await add("acme", {
    code: adapterCode(`yield ${completed};`, "isAvailable: async () => ({ get availability() { for (;;); } }),"),
  }, { limits });
  const { availability, reason } = await host.probe("acme");
  expect(availability).not.toBe("available");
  expect(reason).toMatch(/answer/);
});

test("A11 a host closes within its deadline while plugins are stuck in builtins, and leaves no process", async () => {
  const { host, add, workdir } = await openHost();
  await add("acme", {
    code: adapterCode(
      `yield { type: "progress", message: "in" }; await ctx.sleep(50); Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);`,
    ),
  }, { limits: { ...limits, heartbeat_timeout_ms: 60_000 } });
  const session = await host.runSession({ workdir, prompt: "go", retry: "never" }, {
    adapter: "acme",
    artifacts: "none",
  });
  for await (const { event } of session.events()) if (event.type === "progress") break;
  await new Promise((resolve) => setTimeout(resolve, 300));
  const started = performance.now();
  await host.close();
  expect(performance.now() - started).toBeLessThan(15_000);
  expect((await session.result()).error).toBeDefined();
}, 30_000);

test("A26 a plugin that dies at each load is put in quarantine, and another plugin does not notice", async () => {
  const { host, add, run } = await openHost();
  await add("loops", { code: "for (;;);" }, { limits: { ...limits, load_timeout_ms: 1000, quarantine_crashes: 3 } });
  await add("sound", { code: adapterCode(`yield ${completed};`) });
  const codes: string[] = [];
  for (let i = 0; i < 5; i++) codes.push((await errorOf(host.load("loops"))).code);
  expect(codes.slice(0, 2)).toEqual(["load_failed", "load_failed"]);
  // The third is the one that brings it there, and may say so already.
  expect(codes.slice(3)).toEqual(["quarantined", "quarantined"]);
  expect((await run("loops")).result.error?.code).toBe("quarantined");
  expect((await run("sound")).result.outcome).toBe("completed");
}, 30_000);

test("A21 a host that is being debugged does not make its workers stop for a debugger", async () => {
  const { root: folder } = await openHost();
  const code = adapterCode(`debugger; await ctx.sleep(2500); yield ${completed};`);
  await writePlugin(join(folder, "plugins/acme"), "acme", { code });
  await writeFile(join(folder, "bulkhead.yaml"), "bulkhead: 1\nplugins: { acme: {} }\n");
  const [file, ...before] = onDeno
    ? [process.execPath, "run", "-A", "--inspect=127.0.0.1:0", `${root}core/doors/cli/main.ts`]
    : [process.execPath, "--inspect=127.0.0.1:0", `${root}dist/bundle/cli.js`];
  const child = spawn(file!, [...before, "run", "acme", "go", "--json"], {
    cwd: folder,
    env: { ...process.env, XDG_STATE_HOME: folder, NODE_OPTIONS: onDeno ? "" : "--inspect=127.0.0.1:0" },
    stdio: "ignore",
  });
  const exited = new Promise<number | null>((resolve) => child.once("close", resolve));
  const seen: string[] = [];
  while (child.exitCode === null && !seen.some((command) => command.includes("warden.js"))) {
    await watch(child.pid!, seen);
  }
  expect(await exited).toBe(0);
  expect(seen.filter((command) => command.includes("warden.js"))).not.toEqual([]);
  expect(seen.filter((command) => command.includes("warden.js") && /inspect/.test(command))).toEqual([]);
});

/** Adds the command line and environment of every process that stands below one. */
async function watch(above: number, seen: string[]): Promise<void> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const below = new Set([above]);
  for (let round = 0; round < 3; round++) {
    for (const pid of pids) {
      const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => "");
      if (below.has(Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]))) below.add(Number(pid));
    }
  }
  below.delete(above);
  for (const pid of below) {
    const [command, environ] = await Promise.all(
      ["cmdline", "environ"].map((name) => readFile(`/proc/${pid}/${name}`, "latin1").catch(() => "")),
    );
    seen.push(`${command} ${environ}`);
  }
}
