import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { connectHost, type RemoteHost } from "../../core/doors/client/mod.ts";
import { type DaemonRecord, readDaemonRecord } from "../../core/doors/daemon/daemon-record.ts";
import { findHolder } from "../../core/ground/platform/state/lock-file.ts";
import { unixFetch } from "../../core/ground/platform/net/unix-fetch.ts";
import { adapterCode, writePlugin } from "../sessions/host/test-host.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const program = "Deno" in globalThis
  ? ["run", "-A", join(root, "core/doors/cli/main.ts")]
  : [join(root, "dist/bundle/cli.js")];

/** A state folder in which one daemon after the other is killed. */
export interface Lane {
  number: number;
  folder: string;
  stateDir: string;
  workdir: string;
  /** Path of its journal. */
  journal: string;
  /** How long its last daemon took from its own start to the lock, and from there to readiness. Milliseconds. */
  bootMs: number;
  openMs: number;
  atMost: Delays;
  /** Its daemons that have not ended. */
  daemons: Set<ChildProcess>;
}

/**
 * How late a start, after its lock, and a migration are killed at most, in milliseconds. It goes after what they take;
 * lanes of one run share it, because they share the machine.
 */
export interface Delays {
  startMs: number;
  migrationMs: number;
}

/** A daemon of a lane. */
export interface LaneDaemon {
  child: ChildProcess;
  exited: Promise<void>;
  /** Resolves when it holds the lock of the state folder, or has ended before that. */
  locked: Promise<void>;
  /** Resolves when it takes requests; null when it ended before that. */
  ready: Promise<RemoteHost | null>;
  /** What it said, for whoever wonders why it ended. */
  said(): string;
}

/** Writes in bursts until it is stopped. */
const chatter = adapterCode(`    for (let burst = 0;; burst++) {
      for (let at = 0; at < 8; at++) {
        yield { type: "output", stream: "stdout", data: "burst " + burst + " line " + at + " ".repeat(200) + "\\n" };
      }
      await ctx.sleep(10);
    }`);

/** Starts a program that would outlive everybody, and waits for it. */
const spawner = (lane: number) =>
  adapterCode(`    const child = await ctx.run("/bin/sleep", ["${napOf(lane)}"]);
    yield { type: "progress", message: "started" };
    await child.exited;`);

/** Ends by itself within a moment, so that there is something to compact. */
const brief = adapterCode(
  `    for (let at = 0; at < 50; at++) yield { type: "output", stream: "stdout", data: "short " + at + "\\n" };
    yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };`,
);

/** How long the spawner's program sleeps, in seconds: tells whose it is in the list of all processes. */
export function napOf(lane: number): string {
  return `${86_400 + process.pid * 10 + lane}`;
}

/** Makes an empty lane. */
export async function openLane(number: number, atMost: Delays): Promise<Lane> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "bh-crash-")));
  const lane: Lane = {
    number,
    folder,
    stateDir: join(folder, "state"),
    workdir: join(folder, "work"),
    journal: join(folder, "state", "host-1", "journal.db"),
    bootMs: 500,
    openMs: 300,
    atMost,
    daemons: new Set(),
  };
  await mkdir(lane.workdir);
  for (const [id, code] of Object.entries({ chatter, brief, spawner: spawner(number) })) {
    const manifest = id === "spawner" ? 'permissions: { run: [{ binary: /bin/sleep, args: ["{}"] }] }' : "";
    await writePlugin(join(folder, "plugins", id), id, { code, manifest });
  }
  await writeManifest(lane);
  return lane;
}

/** Writes the lane's host manifest; one that compacts keeps nothing of what has ended. */
export async function writeManifest({ folder }: Lane, { compacts = false } = {}): Promise<void> {
  await writeFile(
    join(folder, "bulkhead.yaml"),
    [
      "bulkhead: 1",
      "plugins:",
      "  chatter: {}",
      "  brief: {}",
      "  spawner: { grant: { run: [/bin/sleep] } }",
      "daemon: { port: 0, drain_ms: 200 }",
      "limits: { agent_grace_ms: 300, warden_grace_ms: 200, teardown_timeout_ms: 200 }",
      ...(compacts ? ["journal: { keep_ms: 1 }"] : []),
      "",
    ].join("\n"),
  );
}

/** Ends what still runs on a lane, and removes its folder. */
export async function closeLane({ folder, daemons }: Lane): Promise<void> {
  for (const daemon of daemons) daemon.kill("SIGKILL");
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}

/** Starts a daemon on a lane. */
export function startDaemon(lane: Lane): LaneDaemon {
  return startProgram(lane, ["up", "--json"]);
}

/** Starts the command line on a lane, with its state folder. */
export function startProgram(lane: Lane, args: readonly string[]): LaneDaemon {
  const { PATH = "", HOME = "", DENO_DIR } = process.env;
  const child = spawn(process.execPath, [...program, ...args, "--state-dir", lane.stateDir], {
    cwd: lane.folder,
    env: { PATH, HOME, XDG_CONFIG_HOME: lane.folder, XDG_DATA_HOME: lane.folder, ...(DENO_DIR ? { DENO_DIR } : {}) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  lane.daemons.add(child);
  let said = "";
  let hasEnded = false;
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (said += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (said += text));
  const exited = new Promise<void>((resolve) => child.once("close", () => resolve())).then(() => {
    hasEnded = true;
    lane.daemons.delete(child);
  });
  const locked = untilLocked(lane, child, () => hasEnded);
  return {
    child,
    exited,
    locked,
    ready: untilReady(lane, { child, locked, hasEnded: () => hasEnded }),
    said: () => said,
  };
}

async function untilLocked(lane: Lane, { pid }: ChildProcess, hasEnded: () => boolean): Promise<void> {
  const began = performance.now();
  while (!hasEnded()) {
    const found = await findHolder(join(lane.stateDir, "daemon.lock")).catch(() => null);
    if (found?.holder.pid === pid) return void (lane.bootMs = performance.now() - began);
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
}

async function untilReady(
  lane: Lane,
  { child: { pid }, locked, hasEnded }: { child: ChildProcess; locked: Promise<void>; hasEnded(): boolean },
): Promise<RemoteHost | null> {
  await locked;
  const began = performance.now();
  while (!hasEnded()) {
    const record: DaemonRecord | "broken" | null = await readDaemonRecord(join(lane.stateDir, "daemon.json"));
    if (record !== null && record !== "broken" && record.pid === pid && record.socket !== null) {
      lane.openMs = performance.now() - began;
      const token = (await readFile(record.token_file, "utf8")).trim();
      return connectHost({ fetch: unixFetch(record.socket), token, patienceMs: 1 });
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return null;
}

/** A process of a lane's host. */
interface RecordedChild {
  pid: number;
  start: string | null;
  role: unknown;
}

/** Processes that the lane's host has written down and not struck out, by pid and start. */
export async function recordedChildren({ stateDir }: Lane): Promise<RecordedChild[]> {
  const text = await readFile(join(stateDir, "host-1", "children.jsonl"), "utf8").catch(() => "");
  return text.split("\n").flatMap((line) => {
    try {
      const row: unknown = JSON.parse(line);
      if (typeof row !== "object" || row === null || !("pid" in row) || "ledger" in row) return [];
      const start = "start" in row && typeof row.start === "string" ? row.start : null;
      const role = "role" in row ? row.role : null;
      return typeof row.pid === "number" ? [{ pid: row.pid, start, role }] : [];
    } catch {
      return [];
    }
  });
}
