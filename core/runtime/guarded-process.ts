import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import type { Duplex, Readable } from "node:stream";
import { execPath, runtimeName } from "./platform.ts";

/** What a warden process is started from. */
export interface GuardedOptions {
  /** Absolute path of the bundled warden; it may read the folder this lies in, and nothing else. */
  file: string;
  /** Characters of its printed text that are kept for error messages. */
  keepText: number;
}

/** A process without permissions, with a byte pipe to it. */
export interface GuardedProcess {
  readonly pid: number;
  write(bytes: Uint8Array): void;
  onBytes(take: (bytes: Uint8Array) => void): void;
  /** What it printed last, on either stream. */
  printed(): string;
  readonly exited: Promise<{ exit_code: number | null; signal: string | null }>;
  /** SIGKILL to the process and its group. */
  kill(): void;
}

/** Starts the running runtime on the warden's bundle, with every permission that can be left out left out. */
export async function startGuarded(options: GuardedOptions): Promise<GuardedProcess> {
  // A wholly empty environment hangs one of the runtimes at start; HOME is a private, empty folder.
  const home = await mkdtemp(join(tmpdir(), "bulkhead-warden-"));
  const child = spawn(execPath, argumentsFor(options.file), {
    cwd: home,
    env: { HOME: home },
    stdio: ["ignore", "pipe", "pipe", "pipe"],
    detached: true,
    windowsHide: true,
  });
  const exited = new Promise<{ exit_code: number | null; signal: string | null }>((resolve) => {
    child.once("error", () => resolve({ exit_code: null, signal: null }));
    child.once("exit", (exit_code, signal) => resolve({ exit_code, signal }));
  });
  const gone = exited.then(async (end) => {
    await rm(home, { recursive: true, force: true });
    return end;
  });
  const pipe = child.stdio[3] as Duplex;
  pipe.on("error", () => {});
  return {
    pid: child.pid ?? 0,
    write: (bytes) => {
      if (!pipe.destroyed) pipe.write(bytes);
    },
    onBytes: (take) => void pipe.on("data", take),
    printed: keepTail([child.stdout, child.stderr], options.keepText),
    exited: gone,
    kill: () => killGroup(child),
  };
}

function argumentsFor(file: string): string[] {
  const folder = dirname(file);
  if (runtimeName === "deno") {
    return ["run", "--quiet", "--no-prompt", "--no-config", "--no-lock", "--no-remote", "--no-npm", `--allow-read=${folder}`, file];
  }
  return [
    nodePermissionFlag(),
    "--allow-worker",
    `--allow-fs-read=${join(folder, "*")}`,
    "--no-addons",
    "--no-warnings",
    "--disable-proto=delete",
    file,
  ];
}

function nodePermissionFlag(): string {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 13) ? "--permission" : "--experimental-permission";
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    child.kill("SIGKILL");
  }
}

/** Drains streams and keeps the end of their text: undrained, they would block the child. */
function keepTail(streams: (Readable | null)[], characters: number): () => string {
  let tail = "";
  for (const stream of streams) {
    stream?.on("error", () => {});
    stream?.setEncoding("utf8").on("data", (text: string) => {
      tail = (tail + text).slice(-characters);
    });
  }
  return () => tail;
}
