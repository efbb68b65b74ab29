import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { adapterFolder } from "./bench-host.ts";

/** A daemon in a process of its own, with the benched plugin and empty state. */
export interface BenchDaemon extends AsyncDisposable {
  socket: string;
  pid: number;
  /** The operator's. */
  token: string;
  /** Holds its state; a folder to work in. */
  folder: string;
  /** Resident memory of the daemon's process, without its wardens. */
  residentMb(): number;
}

/** Words that start the command line, after the runtime's own program. */
export const cli: readonly string[] = "Deno" in globalThis
  ? ["run", "-A", "core/doors/cli/main.ts"]
  : ["dist/bundle/cli.js"];

/**
 * Starts it as a person would, but for limits that would slow down one who asks as much as a bench does.
 * @param more further keys of its host manifest
 * @param meter a module that is loaded into the daemon first, and what is added to its environment
 */
export async function benchDaemon(
  more: { cluster?: object; plugins?: object } = {},
  meter?: { module: string; env: Record<string, string> },
): Promise<BenchDaemon> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-bench-")));
  const manifest = {
    bulkhead: 1,
    limits: { http_requests_per_second: 1_000_000, http_streams: 2048, sessions_per_worker: 32 },
    ...more,
    plugins: { bench: { source: adapterFolder }, ...more.plugins },
  };
  await writeFile(join(folder, "bulkhead.yaml"), JSON.stringify(manifest));
  const own = meter === undefined
    ? cli
    : "Deno" in globalThis
    ? [...cli.slice(0, -1), "--preload", meter.module, ...cli.slice(-1)]
    : ["--import", pathToFileURL(meter.module).href, ...cli];
  const flags = ["up", "--port", "0", "--json", "--config", join(folder, "bulkhead.yaml"), "--state-dir"];
  const child = spawn(process.execPath, [...own, ...flags, join(folder, "state")], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...meter?.env },
  });
  const ended = once(child, "exit");
  const lines = createInterface({ input: child.stdout });
  const [line] = await Promise.race([once(lines, "line"), ended.then(() => ["null"])]) as string[];
  const { daemon } = JSON.parse(line!) as { daemon: { socket: string; pid: number; token_file: string } };
  return {
    socket: daemon.socket,
    pid: daemon.pid,
    token: readFileSync(daemon.token_file, "utf8").trim(),
    folder,
    residentMb: () => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${daemon.pid}/status`, "utf8"))?.[1]) / 1024,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await ended;
      await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}
