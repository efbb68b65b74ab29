import { cp, mkdtemp, readFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { afterEach, describe, expect, test } from "vitest";
import { defaultLimits } from "../../core/ground/config/limits.ts";
import { Lane } from "../../core/walls/pool/lane.ts";
import { startProcessContainer } from "../../core/walls/pool/process-container.ts";
import { wardenFile } from "../../core/walls/pool/spare-container.ts";
import { defaultOsWallUses, type OsWallUses } from "../../core/ground/platform/os-walls/os-wall.ts";
import { adapterCode, completed, isolations, openHost } from "../sessions/host/test-host.ts";

const onDeno = "Deno" in globalThis;
const folders: string[] = [];

afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

async function newFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-escape-")));
  folders.push(folder);
  return folder;
}

/**
 * A guest that is already out of its compartment: native code in the worker thread, after our own guest has locked it,
 * with all that the process has.
 */
const escapedGuest = (secret: string, port: number) => `
import "./real-guest.js";
import fs from "node:fs";
import net from "node:net";
import dns from "node:dns/promises";
import process from "node:process";
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";

const tries = {
  read: () => fs.readFileSync(${JSON.stringify(secret)}, "utf8"),
  read_passwd: () => fs.readFileSync("/etc/passwd", "utf8"),
  read_environ: () => fs.readFileSync("/proc/self/environ", "utf8"),
  list: () => fs.readdirSync("/home"),
  write: () => fs.writeFileSync(${JSON.stringify(`${secret}.written`)}, "x"),
  write_home: () => fs.writeFileSync(process.env.HOME + "/x", "x"),
  remove: () => fs.rmSync(${JSON.stringify(secret)}),
  spawn: () => { const { error, status } = spawnSync("/bin/true"); if (error) throw error; return status; },
  spawn_self: () => { const { error, status } = spawnSync(process.execPath, ["--version"]); if (error) throw error; return status; },
  addon: () => { process.dlopen({ exports: {} }, "/lib/x.node"); },
  binding: () => { process.binding("fs").open("/etc/passwd", 0, 0); },
  require_file: () => createRequire("/")("/etc/hostname"),
  inner_worker: () => new Promise((resolve, reject) => {
    const worker = new Worker("const fs = require('node:fs'); require('node:worker_threads').parentPort.postMessage(fs.readFileSync('/etc/passwd', 'utf8'))", { eval: true });
    worker.on("message", resolve);
    worker.on("error", reject);
    setTimeout(() => reject(new Error("no answer")), 1500);
  }),
  inner_worker_without_flags: () => new Promise((resolve, reject) => {
    const code = "require('node:worker_threads').parentPort.postMessage(require('node:fs').readFileSync('/etc/passwd', 'utf8'))";
    const worker = new Worker(code, { eval: true, execArgv: [], env: {} });
    worker.on("message", resolve);
    worker.on("error", reject);
    setTimeout(() => reject(new Error("no answer")), 1500);
  }),
  register: () => { createRequire("/")("node:module").register("data:text/javascript,1"); },
  import_web: () => import("https://127.0.0.1:1/x.js"),
  import_file: () => import("file:///etc/hostname"),
  import_npm: () => import("npm:left-pad"),
  connect: () => new Promise((resolve, reject) => {
    const socket = net.connect(${port}, "127.0.0.1", () => { socket.destroy(); resolve("connected"); });
    socket.on("error", reject);
    setTimeout(() => reject(new Error("no answer")), 1500);
  }),
  lookup: () => dns.lookup("localhost"),
  signal_host: () => process.kill(${process.pid}, 0),
};

export async function serve({ port }) {
  const report = { env: Object.keys(process.env).sort() };
  for (const [name, run] of Object.entries(tries)) {
    try {
      const value = await run();
      report[name] = "done " + String(value).slice(0, 20);
    } catch (error) {
      report[name] = "denied " + (error.code ?? error.name);
    }
  }
  const text = JSON.stringify({ type: "loaded", protocol: 2, error: { code: "load_failed", message: JSON.stringify(report) } });
  const payload = new TextEncoder().encode(text);
  const frame = new Uint8Array(8 + payload.length);
  new DataView(frame.buffer).setUint32(0, payload.length, true);
  new DataView(frame.buffer).setUint32(4, 1, true);
  frame.set(payload, 8);
  port.postMessage({ buffer: frame.buffer, length: frame.length }, [frame.buffer]);
  await new Promise(() => {});
}
`;

interface Escape {
  report: Record<string, unknown>;
  secret: string;
}

async function escape(osWalls: OsWallUses): Promise<Escape> {
  const folder = await newFolder();
  const outside = await newFolder();
  const secret = join(outside, "secret.txt");
  await writeFile(secret, "the user's secret");
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const limits = { ...defaultLimits, load_timeout_ms: 20_000, warden_grace_ms: 300 };
  await cp(dirname(wardenFile), folder, { recursive: true });
  await rename(join(folder, "guest.js"), join(folder, "real-guest.js"));
  await writeFile(join(folder, "package.json"), '{"type":"module"}');
  await writeFile(join(folder, "guest.js"), escapedGuest(secret, port));
  const container = await startProcessContainer(join(folder, "warden.js"), { limits, osWalls });
  try {
    const lane = new Lane(container.openLane(), { pluginId: "acme", script: "", limits });
    const error = await lane.loaded.then(() => null, (thrown: Error) => thrown);
    if (!error?.message.startsWith("{")) throw new Error("The escaped guest did not report.", { cause: error });
    return { report: JSON.parse(error.message) as Record<string, unknown>, secret };
  } finally {
    await container.close();
    await new Promise((resolve) => server.close(resolve));
  }
}

const without: OsWallUses = {
  cgroup: "off",
  priority: "off",
  prlimit: "off",
  bubblewrap: "off",
  agents: "off",
  unknown_hosts: "deny",
};
/** Nothing of these works for code that is out of its compartment, whatever the system offers. */
const alwaysDenied = [
  "read",
  "read_passwd",
  "read_environ",
  "list",
  "write",
  "write_home",
  "remove",
  "spawn",
  "spawn_self",
  "addon",
  "binding",
  "require_file",
  "inner_worker",
  "inner_worker_without_flags",
  "register",
  "import_web",
  "import_file",
  "import_npm",
];

describe("code that is out of its compartment", () => {
  test(
    "F19 F25 E12 the runtime's own permissions deny it files, programs, addons and modules, and it has no environment",
    async () => {
      const { report, secret } = await escape(without);
      for (const name of alwaysDenied) expect(report[name], name).toMatch(/^denied /);
      expect((report["env"] as string[]).filter((name) => name !== "HOME" && !name.startsWith("BULKHEAD_"))).toEqual(
        [],
      );
      await expect(readFile(secret, "utf8")).resolves.toBe("the user's secret");
      await expect(stat(`${secret}.written`)).rejects.toThrow();
      // What the runtime leaves open is said, and not called a wall.
      const open = ["connect", "lookup", "signal_host"].filter((name) => String(report[name]).startsWith("done"));
      console.info(
        `Without walls of the operating system an escaped guest can still: ${open.join(", ") || "nothing of this"}.`,
      );
      expect(open).toEqual(onDeno ? [] : ["connect", "lookup", "signal_host"]);
    },
    60_000,
  );

  test(
    "F19 with the walls of the operating system it is as shut in, and has no network where there is bubblewrap",
    async () => {
      const { probeOsWalls } = await import("../../core/ground/platform/os-walls/probe.ts");
      const { report } = await escape(defaultOsWallUses);
      for (const name of alwaysDenied) expect(report[name], name).toMatch(/^denied /);
      const bubblewrap = (await probeOsWalls()).get("bubblewrap")?.active === true;
      if (bubblewrap) { for (const name of ["connect", "signal_host"]) expect(report[name], name).toMatch(/^denied /); }
      else console.info("No bubblewrap here: what an escaped guest may do on the network was not tried.");
    },
    60_000,
  );
});

describe("code that runs before the compartment", () => {
  const changed = [
    "NODE_OPTIONS",
    "NODE_PATH",
    "LD_PRELOAD",
    "DENO_DIR",
    "LOCKDOWN_ERROR_TAMING",
    "LOCKDOWN_EVAL_TAMING",
    "LOCKDOWN_OVERRIDE_TAMING",
    "LOCKDOWN_STACK_FILTERING",
  ];
  const before = Object.fromEntries(changed.map((name) => [name, process.env[name]]));

  afterEach(() => {
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });

  test("F20 start-up settings in the host's environment reach no worker", async () => {
    const folder = await newFolder();
    const mark = join(folder, "ran");
    const evil = join(folder, "evil.cjs");
    await writeFile(evil, `require("node:fs").writeFileSync(${JSON.stringify(mark)}, "ran");`);
    process.env["NODE_OPTIONS"] = `--require ${evil}`;
    process.env["NODE_PATH"] = folder;
    const { add, run } = await openHost();
    await add("plain", { code: adapterCode(`yield ${completed};`) });
    expect((await run("plain")).result.outcome).toBe("completed");
    await expect(stat(mark)).rejects.toThrow();
  });

  test.each(isolations)("F21 variables that weaken the lockdown are not heeded (%s)", async (isolation) => {
    Object.assign(process.env, {
      LOCKDOWN_ERROR_TAMING: "unsafe",
      LOCKDOWN_EVAL_TAMING: "unsafe-eval",
      LOCKDOWN_OVERRIDE_TAMING: "min",
      LOCKDOWN_STACK_FILTERING: "concise",
    });
    const { add, run } = await openHost();
    await add("plain", {
      code: adapterCode(`
        const frozen = [Object, Array, Promise].every((one) => Object.isFrozen(one) && Object.isFrozen(one.prototype));
        yield { type: "output", stream: "stdout", data: String([frozen, String(new Error("x").stack).includes("at ")]) };
        yield ${completed};`),
    }, { isolation, trusted: isolation === "thread" });
    expect((await run("plain")).result.output).toBe("true,false");
  });

  test("F24 what is hashed is what is evaluated", async () => {
    const { add, run, host } = await openHost();
    await add("plain", { code: `\ufeff${adapterCode(`yield ${completed};`)}` });
    const { result } = await run("plain");
    expect(result.outcome).toBe("completed");
    expect(result.provenance.package_sha256).toBe((await host.load("plain")).sha256);
  });
});
