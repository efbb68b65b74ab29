import { readFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createHost, type HostOptions, loadHostManifest } from "bulkhead";
import { afterEach, beforeEach, expect, test } from "vitest";
import { connectDaemon } from "../../../core/doors/cli/remote-sessions.ts";
import { connectHost, type RemoteHost } from "../../../core/doors/client/mod.ts";
import { type Daemon, startDaemon } from "../../../core/doors/daemon/daemon.ts";
import { daemonFiles } from "../../../core/doors/daemon/daemon-files.ts";
import { inspectDaemon } from "../../../core/doors/daemon/inspect-daemon.ts";
import { unixFetch } from "../../../core/ground/platform/net/unix-fetch.ts";
import { adapterCode, completed, errorOf, writePlugin } from "../../sessions/host/test-host.ts";

let root = "";
let stateDir = "";
let workdir = "";
const daemons: Daemon[] = [];

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "bh-daemon-")));
  [stateDir, workdir] = [join(root, "state"), join(root, "work")];
  await mkdir(workdir);
  await writePlugin(join(root, "plugins", "brief"), "brief", { code: adapterCode(`    yield ${completed};`) });
  await writePlugin(join(root, "plugins", "slow"), "slow", {
    code: adapterCode(`    yield { type: "progress", message: "running" };
    await ctx.sleep(Number(request.prompt));
    yield ${completed};`),
  });
  await writeManifest("plugins: { brief: {}, slow: {} }");
});

afterEach(async () => {
  for (const daemon of daemons.splice(0)) await daemon.stop({ drainMs: 0 });
  await rm(root, { recursive: true, force: true });
});

async function writeManifest(text: string, daemon = "port: 0", limit = ""): Promise<void> {
  const limits = `limits: { teardown_timeout_ms: 200, warden_grace_ms: 200, ${limit} }`;
  await writeFile(join(root, "bulkhead.yaml"), `bulkhead: 1\n${text}\n${limits}\ndaemon: { ${daemon} }\n`);
}

async function start(options: Partial<Parameters<typeof startDaemon>[0]> = {}): Promise<Daemon> {
  const daemon = await startDaemon({
    createHost,
    readManifest: async () => await loadHostManifest({ config: join(root, "bulkhead.yaml"), from: root }) ?? undefined,
    root,
    stateDir,
    bundledDir: null,
    ...options,
  });
  daemons.push(daemon);
  return daemon;
}

function owner({ record }: Daemon): RemoteHost {
  const token = readFileSync(record.token_file, "utf8").trim();
  return connectHost({ fetch: unixFetch(record.socket!), token, patienceMs: 1 });
}

async function logged(): Promise<string[]> {
  const text = await readFile(daemonFiles(stateDir).log, "utf8");
  return text.trimEnd().split("\n").map((line) => (JSON.parse(line) as { message: string }).message);
}

test("a daemon takes sessions over its socket and over TCP with the first token, and leaves nothing behind", async () => {
  const daemon = await start();
  const token = (await readFile(daemon.record.token_file, "utf8")).trim();
  for (const path of [daemon.record.socket!, daemon.record.token_file]) {
    expect((await stat(path)).mode & 0o077).toBe(0);
  }
  for (const client of [owner(daemon), connectHost({ url: daemon.record.address, token })]) {
    const session = await client.start({ workdir, prompt: "go" }, { adapter: "brief", artifacts: "none" });
    expect(await session.result()).toMatchObject({ outcome: "completed" });
  }
  expect(await inspectDaemon(stateDir)).toMatchObject({ state: "running", record: daemon.record });
  // As the system does when its user logs out.
  await rm(daemon.record.socket!);
  expect(await (await connectDaemon(daemon.record)).list()).toHaveLength(2);
  await daemon.stop();
  expect(await inspectDaemon(stateDir)).toMatchObject({ state: "stopped" });
  expect((await readdir(stateDir)).filter((name) => /lock|sock|daemon\.json/.test(name))).toEqual([]);
  expect(await errorOf(owner(daemon).list())).toMatchObject({ code: "network_error" });
});

test("a second daemon is told who the first is, and harms it not", async () => {
  const first = await start();
  const error = await errorOf(start());
  expect(error).toMatchObject({ code: "busy", details: { pid: first.record.pid, address: first.record.address } });
  expect(await owner(first).ready()).toBe(true);
  await first.stop();
  const next = await start();
  expect(await owner(next).ready()).toBe(true);
});

test("a daemon of an older version, whose lock says nothing in another container, keeps all its files", async () => {
  await mkdir(stateDir, { mode: 0o700 });
  const { lock, record, sockets } = daemonFiles(stateDir);
  const [socket = ""] = sockets;
  const files = { [lock]: JSON.stringify({ pid: 2 ** 22 + 1, start: "1" }), [record]: "as it was" };
  for (const [file, text] of Object.entries(files)) await writeFile(file, text);
  const old = createServer();
  await new Promise<void>((resolve) => old.listen(socket, resolve));
  try {
    expect(await errorOf(start())).toMatchObject({
      code: "busy",
      message: `Cannot start the daemon: another program listens at "${socket}".`,
    });
    for (const [file, text] of Object.entries(files)) expect(await readFile(file, "utf8")).toBe(text);
    expect((await stat(socket)).isSocket()).toBe(true);
  } finally {
    await new Promise((resolve) => old.close(resolve));
  }
  await start();
});

test("a daemon takes no state folder into which others could have put tokens", async () => {
  await mkdir(stateDir);
  await chmod(stateDir, 0o777);
  expect(await errorOf(start())).toMatchObject({ code: "io_error", hint: expect.stringContaining("--state-dir") });
  expect(await readdir(stateDir)).toEqual([]);
  await chmod(stateDir, 0o700);
  expect(await owner(await start()).ready()).toBe(true);
});

test("a daemon waits for no host in another process: it is told who has the state folder", async () => {
  const other = await createHost({ stateDir, bundledDir: null });
  const error = await errorOf(start());
  expect(error).toMatchObject({ code: "busy", details: { pid: process.pid } });
  await other.close();
  await start();
});

test("where the operator names no port and the usual one is busy, a free one is taken and told", async () => {
  await writeManifest("plugins: { brief: {}, slow: {} }", "log_level: info");
  const other = createServer((connection) => connection.destroy());
  // Another program of this machine may have it already: it is busy either way.
  await new Promise<void>((resolve) => other.once("error", () => resolve()).listen(7717, "127.0.0.1", resolve));
  try {
    const { record } = await start();
    expect(Number(new URL(record.address).port)).not.toBe(7717);
    expect(await logged()).toContainEqual(
      expect.stringMatching(/^The daemon has a free port: another (program|Bulkhead) has port 7717 of 127\.0\.0\.1\.$/),
    );
    expect((await owner(daemons.at(-1)!).agents()).length).toBeGreaterThan(0);
  } finally {
    await new Promise((resolve) => other.close(resolve));
  }
});

test("a port that another program has is told as such, and nothing of the start is left", async () => {
  // It takes a connection, says nothing, and lets go when the other side does.
  const server = createServer((socket) => void socket.on("error", () => {}).resume());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const error = await errorOf(start({ port }));
  expect(error).toMatchObject({ code: "busy", details: { port } });
  expect(error.message).toContain(`port ${port}`);
  expect(await inspectDaemon(stateDir)).toMatchObject({ state: "stopped" });
  await new Promise((resolve) => server.close(resolve));
  expect((await start({ port })).record.address).toBe(`http://127.0.0.1:${port}`);
});

test("while it drains a daemon refuses new sessions, is not ready, and lets those that run end", async () => {
  const daemon = await start();
  const client = owner(daemon);
  const session = await client.start({ workdir, prompt: "700" }, { adapter: "slow", artifacts: "none" });
  const events = session.events()[Symbol.asyncIterator]();
  await events.next();
  const stopping = daemon.stop();
  expect(await errorOf(client.start({ workdir, prompt: "go" }, { adapter: "brief" }))).toMatchObject({
    code: "host_closed",
  });
  expect(await client.ready()).toBe(false);
  expect(await client.list({ state: "running" })).toHaveLength(1);
  let last = "";
  for (let step = await events.next(); !step.done; step = await events.next()) {
    last = step.value.event.type === "session_ended" ? step.value.event.result.outcome : "";
  }
  expect(last).toBe("completed");
  await stopping;
});

test("sessions that run longer than the drain are interrupted, and their clients see it", async () => {
  await writeManifest("plugins: { slow: {} }", "port: 0, drain_ms: 100");
  const daemon = await start();
  const session = await owner(daemon).start({ workdir, prompt: "100000" }, { adapter: "slow", artifacts: "none" });
  const events = session.events()[Symbol.asyncIterator]();
  await events.next();
  const stopping = daemon.stop();
  let reason = "";
  for (let step = await events.next(); !step.done; step = await events.next()) {
    if (step.value.event.type === "session_ended") reason = step.value.event.result.stop_reason;
  }
  expect(reason).toBe("interrupted");
  await stopping;
  expect(await logged()).toContain("Sessions that still run are interrupted.");
  const next = await start();
  expect(await owner(next).get(session.id)).toMatchObject({ state: "ended", stop_reason: "interrupted" });
});

test("reload over the API adds and removes plugins and says what waits for a restart", async () => {
  const daemon = await start();
  const client = owner(daemon);
  await writeManifest(
    "plugins: { brief: {} }\njournal: { keep_ms: 86400000 }",
    "port: 0, drain_ms: 5000",
    "http_streams: 3",
  );
  const restart_needed = ["daemon.drain_ms", "limits.http_streams", "journal.keep_ms"];
  expect(await client.reload()).toEqual({
    added: [],
    removed: ["slow"],
    changed: ["brief"],
    unavailable: [],
    restart_needed,
  });
  // It still runs as it was started.
  expect(await client.reload()).toEqual({ added: [], removed: [], changed: [], unavailable: [], restart_needed });
  expect(await errorOf(client.start({ workdir, prompt: "1" }, { adapter: "slow" }))).toMatchObject({
    code: "unknown_adapter",
  });
  expect((await client.plugins()).filter(({ enabled }) => enabled).map(({ id }) => id)).toEqual(["brief"]);
});

test("a host manifest with errors leaves the old one in force and says why", async () => {
  const daemon = await start();
  await writeManifest("plugins: [brief]");
  const error = await errorOf(owner(daemon).reload());
  expect(error).toMatchObject({ code: "invalid_config" });
  expect(error.message).toContain("bulkhead.yaml:2:");
  expect(await errorOf(daemon.reload())).toMatchObject({ code: "invalid_config" });
  const session = await owner(daemon).start({ workdir, prompt: "1" }, { adapter: "slow", artifacts: "none" });
  expect(await session.result()).toMatchObject({ outcome: "completed" });
  expect((await logged()).some((line) => line.includes("was not reloaded; the old one holds"))).toBe(true);
});

test("grants that are set over the API stand in the file and hold for the sessions to come", async () => {
  await writePlugin(join(root, "plugins", "reader"), "reader", {
    code: adapterCode(`    await ctx.fs.readText("note.txt");
    yield ${completed};`),
    manifest: "permissions: { read: [workdir] }",
  });
  await writeFile(join(workdir, "note.txt"), "hello");
  await writeManifest("# mine\nplugins: { reader: {} }");
  const daemon = await start();
  const client = owner(daemon);
  const outcome = async () => {
    const session = await client.start({ workdir, prompt: "1", retry: "never" }, {
      adapter: "reader",
      artifacts: "none",
    });
    return (await session.result()).outcome;
  };
  expect(await outcome()).toBe("error");
  await client.setGrants("reader", { read: ["workdir"] });
  expect(await readFile(join(root, "bulkhead.yaml"), "utf8")).toContain("# mine");
  expect(await client.grants("reader")).toMatchObject({ grant: { read: ["workdir"] } });
  expect(await outcome()).toBe("completed");
  // Two consoles at once: one of them is told so, and none undoes what the other did.
  const narrower = ["workdir:a", "workdir:b"].map((instead) =>
    client.replaceGrant("reader", { permission: "read", target: "workdir", instead })
  );
  const told = await Promise.allSettled([...narrower, client.addGrant("reader", { permission: "kv", target: "kv" })]);
  expect(told.map(({ status }) => status).sort()).toEqual(["fulfilled", "fulfilled", "rejected"]);
  expect(told.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: "conflict" } });
  expect((await client.grants("reader")).grant).toEqual({ read: [expect.stringMatching(/^workdir:[ab]$/)], kv: true });
  await client.setGrants("reader", null);
  expect(await outcome()).toBe("error");
});

test("a client's never stands as a denial in the file, holds at once, and is undone like any other", async () => {
  await writeManifest("# mine\nplugins: { brief: { grant: { net: ['b.test:443'] } } }");
  let keepDenial: HostOptions["keepDenial"];
  const daemon = await start({
    createHost: (options, seams) => (keepDenial = options.keepDenial, createHost(options, seams)),
  });
  const target = "a.test:443";
  await keepDenial!({ plugin_id: "brief", permission: "net", target, grant_command: "" });
  expect(await readFile(join(root, "bulkhead.yaml"), "utf8")).toMatch(/^# mine$[^]*deny:[^]*a\.test:443/m);
  expect(daemon.host.registry.get("brief")).toMatchObject({ deny: { net: [target] } });
  const client = owner(daemon);
  expect((await client.grants("brief")).deny).toEqual({ net: [target] });
  await client.replaceGrant("brief", { permission: "net", target, instead: null });
  expect((await client.grants("brief")).deny.net ?? []).toEqual([]);
});
