import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { adapterFolder } from "./bench-host.ts";

/** A daemon in a process of its own, with the benched plugin and empty state. */
export interface BenchDaemon extends AsyncDisposable {
  socket: string;
  /** The operator's. */
  token: string;
  /** Holds its state; a folder to work in. */
  folder: string;
  /** Resident memory of the daemon's process, without its wardens. */
  residentMb(): number;
}

/**
 * Starts it as a person would, but for limits that would slow down one who asks as much as a bench does.
 * @param more further keys of its host manifest
 */
export async function benchDaemon(more: { cluster?: object } = {}): Promise<BenchDaemon> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-bench-")));
  const manifest = {
    bulkhead: 1,
    plugins: { bench: { source: adapterFolder } },
    limits: { http_requests_per_second: 1_000_000, http_streams: 2048, sessions_per_worker: 32 },
    ...more,
  };
  await writeFile(join(folder, "bulkhead.yaml"), JSON.stringify(manifest));
  const own = "Deno" in globalThis ? ["run", "-A", "core/doors/cli/main.ts"] : ["dist/bundle/cli.js"];
  const flags = ["up", "--port", "0", "--json", "--config", join(folder, "bulkhead.yaml"), "--state-dir"];
  const child = spawn(process.execPath, [...own, ...flags, join(folder, "state")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const lines = createInterface({ input: child.stdout });
  const [line] = await Promise.race([once(lines, "line"), ended.then(() => ["null"])]) as string[];
  const { daemon } = JSON.parse(line!) as { daemon: { socket: string; pid: number; token_file: string } };
  return {
    socket: daemon.socket,
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
