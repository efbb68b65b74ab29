import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { access, cp, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { smallDisk } from "../../records/git/small-disk.ts";
import { skipBecause } from "../../skip-because.ts";
import { adapterCode, completed, writePlugin } from "../../sessions/host/test-host.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const onDeno = "Deno" in globalThis;
const program = onDeno ? ["run", "-A", join(root, "core/doors/cli/main.ts")] : [join(root, "dist/bundle/cli.js")];

let home = "";
let cwd = "";
const children: ChildProcess[] = [];

beforeEach(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), "bh-cli-")));
  cwd = join(home, "project");
  await mkdir(cwd);
  await writePlugin(join(cwd, "plugins", "says"), "says", {
    code: adapterCode(`    yield { type: "output", stream: "stdout", data: "you said " + request.prompt };
    yield ${completed};`),
  });
  await writePlugin(join(cwd, "plugins", "asks"), "asks", {
    code: adapterCode(`    yield { type: "question", request_id: "q", question: "Which?", options: ["left", "right"] };
    const answer = await ctx.answer("q");
    yield { type: "output", stream: "stdout", data: "it is " + answer };
    yield ${completed};`),
  });
  await writePlugin(join(cwd, "plugins", "slow"), "slow", {
    code: adapterCode(`    yield { type: "progress", message: "running" };
    await ctx.sleep(1e8);`),
  });
  await writeManifest("port: 0, drain_ms: 100");
});

afterEach(async () => {
  await cli("stop", "--now");
  for (const child of children.splice(0)) child.kill("SIGKILL");
  await rm(home, { recursive: true, maxRetries: 3 });
});

async function writeManifest(daemon: string, plugins = "says: {}, asks: {}, slow: {}"): Promise<void> {
  await writeFile(join(cwd, "bulkhead.yaml"), `bulkhead: 1\nplugins: { ${plugins} }\ndaemon: { ${daemon} }\n`);
}

function start(args: readonly string[], { stateDir = join(home, "state"), cwd: folder = cwd } = {}): ChildProcess {
  const { PATH = "", HOME = "", DENO_DIR } = process.env;
  const child = spawn(process.execPath, [...program, ...withState(args, stateDir)], {
    cwd: folder,
    env: {
      PATH,
      HOME,
      XDG_CONFIG_HOME: home,
      XDG_DATA_HOME: home,
      // Hints name the program as an installed one, on Deno too.
      BULKHEAD_COMMAND: "bulkhead",
      ...(DENO_DIR === undefined ? {} : { DENO_DIR }),
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.push(child);
  return child;
}

function withState(args: readonly string[], stateDir: string): string[] {
  return args.includes("--state-dir") ? [...args] : [...args, "--state-dir", stateDir];
}

async function ended(child: ChildProcess): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const texts = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8").on("data", (text: string) => (texts[name] += text));
  }
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, ...texts };
}

function cli(...args: string[]) {
  return ended(start(args));
}

/** Each look starts a program, which takes a while on a machine with much else to do. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 60_000; performance.now() < end;) if (await condition()) return;
  throw new Error("The condition did not come true.");
}

async function json(...args: string[]): Promise<Record<string, unknown>> {
  const { stdout, stderr } = await cli(...args, "--json");
  const line = stdout.trimEnd().split("\n").at(-1) ?? "";
  if (line === "") throw new Error(`It printed nothing: ${stderr}`);
  return JSON.parse(line) as Record<string, unknown>;
}

test("start, status, logs, reload, restart and stop lead a daemon through its life", async () => {
  expect(await json("status")).toMatchObject({ state: "stopped", ready: false, pid: null });
  const started = await cli("start");
  expect(started).toMatchObject({ code: 0, stderr: "" });
  expect(started.stdout).toMatch(/is up at http:\/\/127\.0\.0\.1:\d+ · process \d+/);
  const status = await json("status");
  expect(status).toMatchObject({ state: "running", ready: true, sessions: 0, config_file: join(cwd, "bulkhead.yaml") });
  expect(started.stdout).toContain(String(status["address"]));
  expect(String(status["address"])).toBe(`http://127.0.0.1:${(status["port"] as { number: number }).number}`);
  expect((await cli("status")).code).toBe(0);
  expect(await json("start")).toMatchObject({ already_running: true, daemon: { pid: status["pid"] } });

  await writeManifest("port: 0, drain_ms: 100", "says: {}");
  expect((await cli("reload")).stdout).toBe("removed: asks, slow\n");
  await writeFile(join(cwd, "bulkhead.yaml"), "bulkhead: 1\nplugins: {");
  const refused = await cli("reload");
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain("bulkhead.yaml:2:");
  await writeManifest("port: 0, drain_ms: 100", "says: {}");

  const restarted = await json("restart");
  expect(restarted).toMatchObject({ stopped: status["pid"] });
  expect(await json("stop")).toMatchObject({ stopped: true, pid: (restarted["daemon"] as { pid: number }).pid });
  expect(await json("stop")).toEqual({ stopped: false, pid: null });
  const logs = (await cli("logs", "--json")).stdout.trimEnd().split("\n").map((line) => JSON.parse(line) as object);
  expect(logs).toMatchObject([{ message: expect.stringContaining("takes requests") }, {}, {}, {}, {}, {}, {}, {}]);
  expect((await cli("logs", "-n", "1")).stdout).toMatch(/info {2}The daemon has stopped\.\n$/);
}, 120_000);

test("a plugin that cannot be read costs only its own sessions, and every command says why", async () => {
  await cli("start");
  const file = join(cwd, "plugins", "asks", "plugin.yaml");
  await writeFile(file, `${await readFile(file, "utf8")}cli: [`);
  await writeManifest("port: 0, drain_ms: 100", "says: {}, asks: {}, slow: { grant: 5 }, gone: { source: ./gone }");
  const reloaded = await cli("reload");
  expect(reloaded.stdout).toContain("removed: asks, slow\nunavailable: asks, gone, slow (why: bulkhead plugin list)\n");
  const restarted = await cli("restart");
  expect(restarted).toMatchObject({ code: 0, stdout: expect.stringContaining("is up at") });
  const why = {
    asks: /asks\/plugin\.yaml:\d+:\d+/,
    slow: /bulkhead\.yaml:2:\d+ plugins\.slow\.grant: /,
    gone: /gone: there is no such folder\./,
  };
  const said = async (...args: string[]) => Object.values(await cli(...args)).join("\n");
  for (const words of [restarted.stderr, await said("logs"), await said("plugin", "list"), await said("doctor")]) {
    for (const reason of Object.values(why)) expect(words).toMatch(reason);
  }
  const agents = (await cli("agents", "--json")).stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
  for (const [id, reason] of Object.entries(why)) {
    expect(agents.find((agent) => agent.id === id)).toMatchObject({
      availability: "unavailable",
      reason: expect.stringMatching(reason),
    });
    for (const command of [["run", id, "hi"], ["plugin", "explain", id], ["plugin", "enable", id]]) {
      expect((await cli(...command)).stderr).toMatch(reason);
    }
  }
  expect(await said("plugin", "list")).toMatch(/✘ gone cannot be used \(.*gone\): unavailable\n/);
  expect((await cli("run", "says", "hi", "--quiet")).stdout).toContain("you said hi");
  expect(await cli("run", "says", "hi", "--embedded")).toMatchObject({ code: 0 });
  expect(await cli("config", "check")).toMatchObject({ code: 2, stderr: expect.stringMatching(why.asks) });
  expect(await cli("plugin", "check")).toMatchObject({ code: 2, stdout: expect.stringMatching(why.asks) });
}, 120_000);

test("restart tries what a start needs before it stops anything", async () => {
  const daemon = await json("start");
  const { pid } = daemon["daemon"] as { pid: number };
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const { port } = other.address() as { port: number };
  const refused = async (says: string, ...args: string[]) => {
    const { code, stderr } = await ended(start(["restart", ...args], { cwd: args.length > 0 ? home : cwd }));
    expect([code === 0, stderr]).toEqual([false, expect.stringContaining(says)]);
    expect(await json("status")).toMatchObject({ pid, state: "running" });
  };
  try {
    await writeManifest(`port: ${port}`);
    await refused(`another program has port ${port}`);
    await writeManifest("port: 0", "says: {} }\ncluster: { servers: [nats://127.0.0.1:9], name: here");
    await refused("Cannot");
    await writeFile(join(cwd, "bulkhead.yaml"), "bulkhead: 1\nplugins: { says: ");
    await refused("bulkhead.yaml:2:");
    // In a folder without one it is the daemon's own that counts.
    await refused("bulkhead.yaml:2:", "--now");
    await rm(join(cwd, "bulkhead.yaml"));
    await refused("bulkhead.yaml", "--now");
  } finally {
    other.close();
  }
  await writeManifest("port: 0, drain_ms: 100");
  expect(await json("restart")).toMatchObject({ stopped: pid });
}, 120_000);

test("SIGHUP reloads the host manifest, and Ctrl-C stops a daemon in the foreground in order", async () => {
  const up = start(["up", "--json"]);
  const over = ended(up);
  await until(async () => (await json("status"))["ready"] === true);
  await writeManifest("port: 0", "says: {}");
  // Not through the child: on Deno one that was sent a signal counts as ended by it.
  process.kill(up.pid!, "SIGHUP");
  await until(async () => (await cli("logs")).stdout.includes("The host manifest was reloaded."));
  process.kill(up.pid!, "SIGINT");
  const { code, stdout } = await over;
  expect(code).toBe(0);
  expect(JSON.parse(stdout.split("\n")[0] ?? "")).toMatchObject({ daemon: { pid: up.pid } });
  expect(await json("status")).toMatchObject({ state: "stopped" });
}, 90_000);

test("a daemon that drains is waited for: who stops it again does not cut its sessions off", async () => {
  await writeManifest("port: 0, drain_ms: 100000");
  await cli("start");
  const run = cli("run", "asks", "go", "--answer-timeout", "60s", "--quiet");
  let asking: string | undefined;
  await until(async () => {
    const { stdout } = await cli("session", "list", "--json");
    const [session] = stdout.split("\n").filter(Boolean).map((line) => JSON.parse(line));
    if (session?.waiting.length > 0) asking = session.session_id;
    return asking !== undefined;
  });
  const first = cli("stop", "--json");
  await until(async () => (await json("status"))["ready"] === false);
  expect((await cli("start")).stderr).toContain("is shutting down");
  const again = start(["stop", "--json"]);
  const second = ended(again);
  await new Promise((resolve) => again.stderr?.once("data", resolve));
  await cli("session", "answer", asking!, "left");
  for (const stopping of [first, second]) expect(JSON.parse((await stopping).stdout)).toMatchObject({ stopped: true });
  expect((await second).stderr).toBe("The daemon is shutting down already.\n");
  expect(await run).toMatchObject({ code: 0, stdout: "it is left\n" });
}, 120_000);

test("a daemon that was killed, one in the way and a port in the way are told apart", async () => {
  const { daemon } = await json("start") as { daemon: { pid: number } };
  process.kill(daemon.pid, "SIGKILL");
  await until(async () => (await json("status"))["state"] === "killed");
  const again = await cli("start");
  expect(again).toMatchObject({ code: 0, stderr: "The previous daemon was killed; its leftovers were cleaned up.\n" });
  expect((await cli("logs")).stdout).toContain(`warn  The previous daemon, process ${daemon.pid}, was killed;`);
  const second = await cli("up");
  expect(second.code).toBe(6);
  expect(second.stderr).toContain("is the daemon of this state folder already at http://127.0.0.1:");
  await cli("stop");

  // The daemon asks the program who it is.
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  try {
    await writeManifest(`port: ${port}`);
    const blocked = await cli("start");
    expect(blocked.code).toBe(6);
    expect(blocked.stderr).toContain(`another program has port ${port} of 127.0.0.1`);
    expect(await json("status")).toMatchObject({ state: "stopped", port: { number: port, free: false } });
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
}, 120_000);

test("start waits for nobody: it names the command that works on its state folder", async () => {
  const running = start(["run", "slow", "hi"]);
  await once(running.stdout!, "data");
  const { code, stderr } = await cli("start");
  expect([code === 0, stderr]).toEqual([
    false,
    expect.stringContaining(`"bulkhead run" (process ${running.pid}) works there.\n  Start again when it has ended, `),
  ]);
  running.kill("SIGKILL");
  await once(running, "exit");
  expect(await cli("start")).toMatchObject({ code: 0 });
}, 60_000);

test("start says why it cannot on a disk that is full or read-only", async (context) => {
  using disk = smallDisk(join(home, "disk"), 256) ?? skipBecause(context, "this user may not mount a file system");
  const place = join(disk.folder, "state");
  const refused = async (why: string) => {
    for (const args of [["start"], ["run", "says", "hi", "--embedded"]]) {
      const { code, stderr } = await cli(...args, "--state-dir", place);
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(`^error: Cannot take the lock "${place}/.*": ${why}\\.\n`),
      ]);
      expect(stderr).not.toContain("Warning");
    }
  };
  await mkdir(join(place, "host-1"), { recursive: true, mode: 0o700 });
  // Larger than the disk.
  await writeFile(join(disk.folder, "filled"), new Uint8Array(300 * 1024)).catch(() => {});
  await refused('the disk of ".*" is full');
  expect((await cli("doctor", "--state-dir", place)).stdout).toMatch(/the disk of ".*" is full/);
  execFileSync("mount", ["-o", "remount,ro", disk.folder]);
  await refused('the disk of ".*" is read-only');
}, 60_000);

test(
  "a daemon on a copy of a state folder leaves the sessions and programs of the one on the folder itself alone",
  async () => {
    const running = await json("start");
    const session = start(["run", "slow", "hi"]);
    await once(session.stdout!, "data");
    const [state, copy] = [join(home, "state"), join(home, "copy")];
    await cp(state, copy, {
      recursive: true,
      preserveTimestamps: true,
      filter: (path) => !/\.sock$|\/looks\b/.test(path),
    });
    const at = ["--state-dir", copy];
    expect((await cli("status", ...at)).stdout).toContain("is not the daemon of this folder");
    expect(await cli("start", ...at)).toMatchObject({ code: 0 });
    const { pid } = running["daemon"] as { pid: number };
    const log = await readFile(join(copy, "daemon.log"), "utf8");
    expect(log).toContain(`This state folder is a copy: process ${pid} works in another one.`);
    expect(log).not.toContain("was killed");
    expect(await json("status")).toMatchObject({ pid, state: "running", sessions: 1 });
    expect(await cli("stop", ...at)).toMatchObject({ code: 0 });
    expect(await json("status")).toMatchObject({ pid, state: "running", sessions: 1 });
  },
  60_000,
);

test("run and session do the same in the daemon as in this process", async () => {
  await cli("start");
  const outputs: string[][] = [];
  for (const flags of [[], ["--embedded"]]) {
    const ran = await cli("run", "says", "hello", ...flags);
    expect(ran.code).toBe(0);
    const quiet = await cli("run", "says", "hello", "--quiet", ...flags);
    const lines = (await cli("run", "says", "hello", "--json", ...flags)).stdout.trimEnd().split("\n");
    const types = lines.map((line) => (JSON.parse(line) as { event: { type: string } }).event.type);
    const shown = ran.stdout.split("\n").filter((line) => !line.includes(" ms ·") && !line.includes(" s ·"));
    outputs.push([...shown, quiet.stdout, ...types]);
  }
  expect(outputs[0]).toEqual(outputs[1]);

  const rows = (await cli("session", "list", "--json")).stdout.trimEnd().split("\n");
  const [newest] = rows.map((line) => JSON.parse(line) as { session_id: string; adapter_id: string });
  // Those that ran in a process of their own are of the same state folder.
  expect(rows).toHaveLength(6);
  expect(newest).toMatchObject({ adapter_id: "says", state: "ended", title: "hello" });
  const id = newest!.session_id;
  const shown = await json("session", "show", id.slice(0, 12));
  expect(shown).toMatchObject({ session_id: id, result: { outcome: "completed", output: "you said hello" } });
  const events = (await cli("session", "events", id, "--json")).stdout.trimEnd().split("\n");
  expect(events.map((line) => (JSON.parse(line) as { seq: number }).seq)).toEqual(events.map((_, at) => at + 1));
  expect(await json("session", "delete", id)).toEqual({ session_id: id, deleted: true });
  expect((await cli("session", "show", id)).code).toBe(5);
  expect((await cli("agents")).stdout).toContain("says");
}, 120_000);

test("a session in the daemon is answered, watched and interrupted from elsewhere", async () => {
  await cli("start");
  const running = ended(start(["run", "asks", "go", "--answer-timeout", "60s", "--quiet"]));
  let waiting: { session_id: string; waiting: { choices: string[] }[] } | undefined;
  await until(async () => {
    const text = (await cli("session", "list", "--json")).stdout.trim();
    waiting = text === "" ? undefined : JSON.parse(text.split("\n")[0] ?? "") as typeof waiting;
    return waiting !== undefined && waiting.waiting.length > 0;
  });
  const id = waiting!.session_id;
  expect(waiting!.waiting[0]!.choices).toEqual(["left", "right"]);
  expect((await cli("session", "answer", id, "right", "--request", "other")).code).toBe(5);
  expect(await json("session", "answer", id, "right")).toMatchObject({ session_id: id, choice: "right" });
  expect(await running).toMatchObject({ code: 0, stdout: "it is right\n" });

  const slow = ended(start(["run", "slow", "go", "--quiet"]));
  let slowId = "";
  await until(async () => {
    const text = (await cli("session", "list", "--state", "running", "--json")).stdout.trim();
    slowId = text === "" ? "" : (JSON.parse(text) as { session_id: string }).session_id;
    return slowId !== "";
  });
  const watched = ended(start(["session", "events", "-f", slowId, "--json"]));
  expect(await json("session", "interrupt", slowId)).toMatchObject({ was_running: true, stop_reason: "interrupted" });
  expect((await slow).code).toBe(130);
  expect((await watched).stdout.trimEnd().split("\n").at(-1)).toContain('"type":"session_ended"');
}, 120_000);

test("a daemon with another host manifest is left alone, and that is said once", async () => {
  await cli("start");
  const { pid, port, address } = await json("status");
  const { number } = port as { number: number };
  expect(address).toBe(`http://127.0.0.1:${number}`);
  await writeFile(join(home, "other.yaml"), "bulkhead: 1\nplugins: { says: { source: project/plugins/says } }\n");
  const other = (...args: string[]) => cli(...args, "--config", join(home, "other.yaml"));
  const notice = "The running daemon serves another project, so commands here run on their own";
  for (const isFirst of [true, false]) {
    const { code, stdout, stderr } = await other("run", "says", "hi", "--quiet");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "you said hi\n" });
    expect(stderr.includes(notice)).toBe(isFirst);
  }
  for (const command of ["start", "restart", "reload", "stop"]) {
    const { code, stderr } = await other(command);
    expect(code).toBe(6);
    expect(stderr).toContain(`serves another project, ${join(cwd, "bulkhead.yaml")}.`);
    expect(stderr).toContain("bulkhead start --state-dir .bulkhead --port 0\n");
  }
  expect((await other("status")).stdout).toContain("other.yaml is not the daemon's");
  expect(await json("status")).toMatchObject({ pid, ready: true });
  const taken = await other("start", "--state-dir", join(home, "second"), "--port", String(number));
  expect(taken.stderr).toContain("another Bulkhead has port");
}, 120_000);

test("restart in a folder without a host manifest keeps the daemon's", async () => {
  await cli("start");
  const elsewhere = join(home, "elsewhere");
  await mkdir(elsewhere);
  expect((await ended(start(["restart", "--json"], { cwd: elsewhere }))).code).toBe(0);
  expect(await json("status")).toMatchObject({ ready: true, config_file: join(cwd, "bulkhead.yaml") });
}, 60_000);

test(
  "install writes a unit that starts this very program with this state folder, and uninstall removes it",
  async () => {
    const printed = await cli("service", "install", "--print", "--system", "systemd");
    expect(printed.stdout).toContain(
      `"up" "--state-dir" "${join(home, "state")}" "--config" "${join(cwd, "bulkhead.yaml")}"`,
    );
    const installed = await json("service", "install", "--system", "systemd") as { file: string };
    const { file } = installed;
    expect(installed).toMatchObject({ env_file: join(home, "bulkhead", "daemon.env"), variables: expect.any(Array) });
    expect(file).toBe(join(home, "systemd", "user", "bulkhead.service"));
    expect(await readFile(file, "utf8")).toBe(printed.stdout);
    expect((await cli("service", "install", "--print", "--system", "launchd")).stdout).toContain(
      "<key>ProgramArguments</key>",
    );
    expect(await json("service", "uninstall", "--system", "systemd")).toMatchObject({ file, removed: true });
    await expect(access(file)).rejects.toThrow();
    expect(await json("service", "uninstall", "--system", "systemd")).toMatchObject({ removed: false });
  },
  60_000,
);

test("up --demo --once runs the demo through the API on a fresh state, and its checks hold", async () => {
  await rm(join(cwd, "bulkhead.yaml"));
  const { code, stdout } = await cli("up", "--demo", "--once", "--port", "0", "--json");
  const lines = stdout.trimEnd().split("\n").map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines[0]).toMatchObject({ daemon: { address: expect.stringContaining("127.0.0.1") } });
  expect(lines.at(-1)).toMatchObject({ demo: { passed: true } });
  expect(code).toBe(0);
  expect(await json("status")).toMatchObject({ state: "stopped" });
}, 120_000);
