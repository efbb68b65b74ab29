import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { connectHost, type RemoteHost } from "../../core/doors/client/mod.ts";
import { readDaemonRecord } from "../../core/doors/daemon/daemon-record.ts";
import { unixFetch } from "../../core/ground/platform/net/unix-fetch.ts";
import { signalTo, watchEnd } from "./signal-to.ts";
import { adapterCode, writePlugin } from "../sessions/host/test-host.ts";

/** A folder that all machines have, for sessions that go on elsewhere. */
export const shared: string = tmpdir();
const root = fileURLToPath(new URL("../../", import.meta.url));
const program = "Deno" in globalThis
  ? ["run", "-A", join(root, "core/doors/cli/main.ts")]
  : [join(root, "dist/bundle/cli.js")];

/** A daemon that works with others; its folder stands for a machine. */
export interface Machine {
  name: string;
  folder: string;
  stateDir: string;
  workdir: string;
  child: ChildProcess | undefined;
  /** The daemon as its owner sees it. */
  host: RemoteHost;
  /** The daemon as another token's holder sees it. */
  as(token: string): RemoteHost;
  start(): Promise<void>;
  /** Sends the process a signal, and waits for its end where that ends it. */
  signal(signal: NodeJS.Signals): Promise<void>;
  /** Waits until it takes requests again. */
  ready(): Promise<void>;
  log(): Promise<string>;
  remove(): Promise<void>;
}

/** Options of {@link startMachine}. */
export interface MachineOptions {
  /** Its version of the plugin "brief"; default: that of all others. */
  briefVersion?: string;
  name: string;
  servers: readonly string[];
  labels?: Record<string, string>;
  replicas?: number;
  /** Values of secrets, by name, in the environment. */
  secrets?: Record<string, string>;
  /** How long its sessions may go on when it ends; default: a moment. */
  drainMs?: number;
  /** Further limits, each after a comma. */
  limits?: string;
  /** Further lines of bulkhead.yaml. */
  lines?: readonly string[];
  /** Further lines under `cluster:`. */
  cluster?: readonly string[];
}

/** Writes a line at a time until it is stopped. */
const ticker = adapterCode(`    for (let at = 1;; at++) {
      yield { type: "output", stream: "stdout", data: "tick " + at + "\\n" };
      await ctx.sleep(20);
    }`);

/** Writes a few lines and is done. */
const brief = adapterCode(
  `    for (let at = 1; at <= 20; at++) yield { type: "output", stream: "stdout", data: "line " + at + "\\n" };
    yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };`,
);

/** Asks one question and tells the answer. */
const asker = adapterCode(
  `    yield { type: "question", request_id: "r1", question: "May I?", options: ["yes", "no"] };
    const choice = await ctx.answer("r1");
    yield { type: "output", stream: "stdout", data: "told " + choice + "\\n" };
    yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };`,
);

/** Changes a file of its working directory. */
const writer = adapterCode(
  `    await ctx.fs.writeText("made.txt", "made\\n");
    yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };`,
);

/** Says for each turn what it got, with the bytes of its attachments; one that says "wait" lasts until it is stopped. */
const looker = adapterCode(
  `    for await (const turn of ctx.turns) {
      const bytes = [];
      for (const part of turn.content ?? []) bytes.push(await ctx.attachments.base64(part.sha256));
      yield { type: "output", stream: "stdout", data: turn.prompt + " " + JSON.stringify(bytes) + "\\n" };
      if (turn.prompt.includes("wait")) await ctx.sleep(600_000, { signal: turn.signal }).catch(() => {});
      yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };
    }`,
);

const manifests: Readonly<Record<string, string>> = {
  writer: "permissions: { write: [workdir] }",
  looker: "accepts: [turns, stop_turn, images, files]",
  planned:
    "access_modes: [{type: subscription, priority: 1, enabled: true, plan: pro, rate_limits: {requests_per_day: 2}}]",
};

/** Starts a daemon of a cluster. */
export async function startMachine(options: MachineOptions): Promise<Machine> {
  const { name } = options;
  const folder = await realpath(await mkdtemp(join(tmpdir(), `bh-${name}-`)));
  const workdir = join(folder, "work");
  await mkdir(workdir);
  for (const [id, code] of Object.entries({ ticker, brief, asker, writer, looker, planned: brief })) {
    const manifest = manifests[id] ?? "";
    await writePlugin(join(folder, "plugins", id), id, { code, manifest });
  }
  if (options.briefVersion !== undefined) {
    const file = join(folder, "plugins", "brief", "plugin.yaml");
    await writeFile(file, (await readFile(file, "utf8")).replace("version: 1.0.0", `version: ${options.briefVersion}`));
  }
  await writeFile(join(folder, "bulkhead.yaml"), manifestText(options));
  const machine = machineOf({ name, folder, workdir, secrets: options.secrets ?? {} });
  await machine.start();
  return machine;
}

function manifestText(
  { name, servers, labels = {}, replicas = 1, limits = "", drainMs = 200, secrets = {}, lines = [], cluster = [] }:
    MachineOptions,
): string {
  return [
    "bulkhead: 1",
    "plugins: { ticker: {}, brief: {}, asker: {}, planned: {}, looker: {}, writer: { grant: { write: [workdir] } } }",
    `daemon: { port: 0, drain_ms: ${drainMs} }`,
    "limits: { agent_grace_ms: 300, warden_grace_ms: 200, teardown_timeout_ms: 200" + `${limits} }`,
    "cluster:",
    `  servers: [${servers.map((server) => `"${server}"`).join(", ")}]`,
    `  name: ${name}`,
    `  labels: ${JSON.stringify(labels)}`,
    `  replicas: ${replicas}`,
    `  shared_folders: ["${shared}"]`,
    "  heartbeat_ms: 200",
    "  silent_ms: 2000",
    ...cluster.map((line) => `  ${line}`),
    ...Object.keys(secrets).map((secret) => `secrets: { ${secret}: env:${secret} }`),
    ...lines,
    "",
  ].join("\n");
}

function machineOf(
  { name, folder, workdir, secrets }: Pick<Machine, "name" | "folder" | "workdir"> & {
    secrets: Record<string, string>;
  },
): Machine {
  const stateDir = join(folder, "state");
  let ending: ChildProcess | undefined;
  const machine: Machine = {
    name,
    folder,
    stateDir,
    workdir,
    child: undefined,
    host: connectHost({ url: "http://127.0.0.1:9" }),
    as: (token) => connectHost({ fetch: unixFetch(join(stateDir, "daemon.sock")), token, patienceMs: 0 }),
    start: async () => {
      const { PATH = "", HOME = "", DENO_DIR } = process.env;
      const child = spawn(process.execPath, [...program, "up", "--json", "--state-dir", stateDir], {
        cwd: folder,
        env: {
          PATH,
          HOME,
          XDG_CONFIG_HOME: folder,
          XDG_DATA_HOME: folder,
          XDG_CACHE_HOME: folder,
          ...(DENO_DIR ? { DENO_DIR } : {}),
          ...secrets,
        },
        stdio: ["ignore", "ignore", "pipe"],
      });
      machine.child = child;
      watchEnd(child);
      let said = "";
      child.stderr.setEncoding("utf8").on("data", (text: string) => said = `${said}${text}`.slice(-4000));
      child.once("exit", async (code, signal) => {
        if (code !== 0 && code !== null) said = `${said}\nIt ended with ${code}.`;
        // Every test after it is red, and none of them tells why.
        if (ending === child) return;
        process.stderr.write(`Machine ${name} ended by itself (${code ?? signal}): ${said}\n${await machine.log()}\n`);
      });
      await machine.ready().catch((error: unknown) => {
        throw new Error(`Machine ${name}: ${String(error)}\n${said}`);
      });
    },
    ready: async () => {
      for (let tries = 0; tries < 1200; tries++) {
        if (machine.child?.exitCode !== null) throw new Error("its daemon has ended");
        const record = await readDaemonRecord(join(stateDir, "daemon.json")).catch(() => null);
        if (record !== null && record !== "broken" && record.pid === machine.child.pid && record.socket !== null) {
          const token = (await readFile(record.token_file, "utf8")).trim();
          machine.host = connectHost({ fetch: unixFetch(record.socket), token });
          if (await machine.host.ready()) return;
        }
        await sleep(25);
      }
      throw new Error("it is not ready");
    },
    signal: async (signal) => {
      if (signal !== "SIGSTOP" && signal !== "SIGCONT") ending = machine.child;
      if (machine.child !== undefined) await signalTo(machine.child, signal);
    },
    log: async () => await readFile(join(stateDir, "daemon.log"), "utf8").catch(() => ""),
    remove: async () => {
      await machine.signal("SIGKILL");
      await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
  return machine;
}

/** Resolves when each of the machines sees all of them. */
export async function allPresent(machines: readonly Machine[]): Promise<void> {
  await until("all see each other", async () => {
    const seen = await Promise.all(machines.map(({ host }) => host.cluster()));
    return seen.every((one) => one.machines.filter(({ state }) => state === "present").length === machines.length);
  });
}

/** Waits until something is so. */
export async function until(what: string, isSo: () => Promise<boolean> | boolean, timeoutMs = 20_000): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`Not within ${timeoutMs} ms: ${what}.`);
    await sleep(30);
  }
}
