import { type ChildProcess, spawn } from "node:child_process";
import { setMaxListeners } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { connectHost, type RemoteHost } from "bulkhead/client";
import { adapterFolder } from "./bench-host.ts";
import type { Figure } from "./measure.ts";

const program = "Deno" in globalThis
  ? ["run", "-A", join(process.cwd(), "core/doors/cli/main.ts")]
  : [join(process.cwd(), "dist/bundle/cli.js")];

/** How long memory may settle before it is read. Milliseconds. */
const settleMs = 1500;

/**
 * Resident memory of a daemon that has nothing to do, and what a session adds to it and to its wardens together: one
 * that waits, and one that says something every 20 ms while a client reads it. Only where `/proc` tells it.
 */
export async function daemonMemory({ quick }: { quick: boolean }): Promise<Figure[]> {
  const count = quick ? 16 : 48;
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-bench-"));
  const workdir = join(folder, "work");
  await mkdir(workdir);
  await writeFile(
    join(folder, "bulkhead.yaml"),
    `bulkhead: 1\nplugins: { bench: { source: ${JSON.stringify(adapterFolder)} } }\n` +
      `limits: { workers: 1, sessions_per_worker: 64, http_requests_per_second: 100000 }\ndaemon: { port: 0, drain_ms: 0 }\n`,
  );
  const state = join(folder, "state");
  const child = spawn(process.execPath, [...program, "up", "--json", "--state-dir", state], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const remote = await connect(child);
    await sleep(settleMs);
    const idle = await treeMb(child.pid ?? 0);
    if (idle === null) return [];
    const warm = await grown(child, remote, { workdir, prompt: "wait", count: 1 });
    const waiting = await grown(child, remote, { workdir, prompt: "wait", count });
    const active = await grown(child, remote, { workdir, prompt: "steady", count });
    return [
      { name: "daemon.idle_rss", value: idle, unit: "mb" },
      { name: "daemon.first_session", value: warm, unit: "mb" },
      { name: "daemon.idle_session", value: waiting / count, unit: "mb" },
      { name: "daemon.active_session", value: active / count, unit: "mb" },
    ];
  } finally {
    child.kill("SIGTERM");
    await new Promise((resolve) => child.once("close", resolve));
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** What so many sessions add while they run, in megabytes; they are interrupted afterwards. */
async function grown(
  { pid = 0 }: ChildProcess,
  remote: RemoteHost,
  { workdir, prompt, count }: { workdir: string; prompt: string; count: number },
): Promise<number> {
  const before = await treeMb(pid) ?? NaN;
  const gone = new AbortController();
  setMaxListeners(0, gone.signal);
  const sessions = await Promise.all(
    Array.from({ length: count }, () => remote.start({ workdir, prompt }, { adapter: "bench", artifacts: "none" })),
  );
  const reading = sessions.map(async (session) => {
    for await (const _ of session.events({ signal: gone.signal })) continue;
  });
  await sleep(settleMs);
  const after = await treeMb(pid) ?? NaN;
  // The first of all stays: what it brought with it is not the others' cost.
  if (count > 1) await Promise.all(sessions.map((session) => session.interrupt()));
  gone.abort();
  await Promise.allSettled(reading);
  return after - before;
}

async function connect(child: ChildProcess): Promise<RemoteHost> {
  let said = "";
  for await (const piece of child.stdout!.setEncoding("utf8") as AsyncIterable<string>) {
    said += piece;
    if (said.includes("\n")) break;
  }
  const { daemon } = JSON.parse(said.split("\n")[0] ?? "") as { daemon: { address: string; token_file: string } };
  return connectHost({ url: daemon.address, token: (await readFile(daemon.token_file, "utf8")).trim() });
}

/** Resident memory of a process and all below it; null where it cannot be told. */
async function treeMb(root: number): Promise<number | null> {
  const pids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name)).map(Number);
  if (pids.length === 0) return null;
  const parents = new Map<number, number>();
  for (const pid of pids) {
    const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => "");
    parents.set(pid, Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]));
  }
  let bytes = 0;
  for (const pid of pids) {
    if (!isBelow(pid, root, parents)) continue;
    const status = await readFile(`/proc/${pid}/status`, "latin1").catch(() => "");
    bytes += Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1024;
  }
  return bytes / 1024 / 1024;
}

function isBelow(pid: number, root: number, parents: ReadonlyMap<number, number>): boolean {
  for (let at: number | undefined = pid; at !== undefined && at > 1; at = parents.get(at)) if (at === root) return true;
  return false;
}
