import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test, type TestContext } from "vitest";
import { processIsAlive } from "../../../core/ground/platform/processes/process-alive.ts";
import { skipBecause } from "../../skip-because.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const program = "Deno" in globalThis
  ? ["run", "-A", join(root, "core/doors/cli/main.ts")]
  : [join(root, "dist/bundle/cli.js")];

let folder = "";
let terminal: ChildProcess | null = null;
const state = () => join(folder, "state");

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-hangup-")));
});

afterEach(async () => {
  close();
  const pid = await daemonPid();
  if (pid !== null && processIsAlive(pid)) process.kill(pid, "SIGKILL");
  await rm(folder, { recursive: true, maxRetries: 3 });
});

/** Skips the test where there is no program that opens a terminal, and says why. */
function needsTerminals(context: TestContext): void {
  if (spawnSync("script", ["--version"], { encoding: "utf8" }).stdout?.includes("util-linux")) return;
  skipBecause(context, "script of util-linux, which opens a terminal for a program, is missing here.");
}

/** Has a shell run a line in a terminal of its own, in which `bulkhead` is the command with an own state folder. */
function openTerminal(line: string): void {
  const { PATH = "", HOME = "", DENO_DIR } = process.env;
  const typed = line.replaceAll("bulkhead", '"$@"').replaceAll("--mine", `--port 0 --state-dir '${state()}'`);
  const words = [process.execPath, ...program].map((word) => `'${word}'`).join(" ");
  terminal = spawn("script", ["--quiet", "--flush", "--command", `set -- ${words}; ${typed}`, join(folder, "shown")], {
    cwd: folder,
    env: {
      PATH,
      HOME,
      SHELL: "/bin/sh",
      XDG_CONFIG_HOME: folder,
      XDG_DATA_HOME: folder,
      XDG_STATE_HOME: folder,
      ...(DENO_DIR === undefined ? {} : { DENO_DIR }),
    },
    stdio: "ignore",
  });
}

/** Closes the terminal as its window does. */
function close(): void {
  terminal?.kill("SIGKILL");
  terminal = null;
}

async function readText(name: string): Promise<string> {
  return await readFile(join(folder, name), "utf8").catch(() => "");
}

async function daemonPid(): Promise<number | null> {
  const { pid } = JSON.parse(await readText("state/daemon.json") || "{}") as { pid?: number };
  return pid ?? null;
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 60_000; performance.now() < end; await sleep(20)) if (await condition()) return;
  throw new Error(`The condition did not come true. Shown: ${await readText("shown")}\n${await readText("out")}`);
}

const isUp = () => until(async () => (await daemonPid()) !== null);

/** Waits for the end of a process, which a killed daemon reaches too, and returns what was logged. */
async function logAtEndOf(pid: number): Promise<string> {
  await until(async () => !processIsAlive(pid));
  return await readText("state/daemon.log");
}

test.for([
  { how: "in the foreground", line: "exec bulkhead up --mine" },
  { how: "in a shell, as npm runs it", line: "bulkhead up --mine; :" },
  { how: "whose output goes to a file", line: "bulkhead up --mine > out 2>&1; :" },
])("up ends in order when its terminal closes: $how", { timeout: 90_000 }, async ({ line }, context) => {
  needsTerminals(context);
  openTerminal(line);
  await isUp();
  const pid = (await daemonPid())!;
  close();
  expect(await logAtEndOf(pid)).toMatch(/The daemon is shutting down;.*The daemon has stopped\./s);
  expect(await daemonPid()).toBeNull();
});

test("up leaves no core dump of Node when its terminal closes", async (context) => {
  needsTerminals(context);
  // The shell outlives its terminal, and sends the SIGHUP on.
  openTerminal(
    "trap 'trap : HUP; kill -HUP 0' HUP; bulkhead up --mine & while kill -0 $!; do wait $!; echo $? > status; done",
  );
  await isUp();
  const pid = (await daemonPid())!;
  close();
  expect(await logAtEndOf(pid)).toContain("The daemon has stopped.");
  await until(async () => ["0", "137", "141"].includes((await readText("status")).trim()));
}, 90_000);

const hangUp = async () => void process.kill((await daemonPid())!, "SIGHUP");

test.for([
  { how: "started by nohup", line: "nohup bulkhead up --mine; :", act: close },
  { how: "in a session of its own", line: "setsid bulkhead up --mine; :", act: hangUp },
])(
  "up reloads at SIGHUP where it belongs to no terminal: $how",
  { timeout: 90_000 },
  async ({ line, act }, context) => {
    needsTerminals(context);
    await writeFile(join(folder, "bulkhead.yaml"), "bulkhead: 1\n");
    openTerminal(line);
    await isUp();
    const pid = (await daemonPid())!;
    await act();
    await until(async () => (await readText("state/daemon.log")).includes("The host manifest was reloaded."));
    process.kill(pid, "SIGTERM");
    expect(await logAtEndOf(pid)).toContain("The daemon has stopped.");
  },
);
