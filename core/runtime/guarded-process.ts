import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import type { Duplex, Readable } from "node:stream";
import { confine } from "./os-walls/confine.ts";
import type { Confinement, OsWallName, OsWallUses } from "./os-walls/os-wall.ts";
import { containerEnd } from "./container-end.ts";
import type { ChildLedger } from "./child-ledger.ts";
import { dropSeals, sealedStreams } from "./inherited-descriptors.ts";
import { execPathForOthers, runtimeName } from "./platform.ts";
import { markName } from "./process-mark.ts";
import { processStart } from "./process-rows.ts";

/** What a warden process is started from. */
export interface GuardedOptions {
  /** Absolute path of the bundled warden; it may read the folder this lies in, and nothing else. */
  file: string;
  /** Characters of its printed text that are kept for error messages. */
  keepText: number;
  /** Which walls of the operating system stand around it, and what they hold it to. */
  osWalls: OsWallUses;
  confinement: Omit<Confinement, "readable">;
  /** Where the process is written down, so that it is found when this one is killed. */
  children?: ChildLedger | undefined;
}

/** A process without permissions, with a byte pipe to it. */
export interface GuardedProcess {
  /** Of the outermost program: of what contains the runtime, where something does. */
  readonly pid: number;
  /** The operating system's walls around it. */
  readonly osWalls: readonly OsWallName[];
  write(bytes: Uint8Array): void;
  onBytes(take: (bytes: Uint8Array) => void): void;
  /** Leaves what it sends in the pipe, which blocks it when that is full, or reads on. */
  hold(isHeld: boolean): void;
  /** It has closed its end of the pipe; it may live on. */
  onClosed(take: () => void): void;
  /** Bytes that were written and that it has not taken. */
  unread(): number;
  /** What it printed last, on either stream. */
  printed(): string;
  readonly exited: Promise<{ exit_code: number | null; signal: string | null }>;
  /** SIGKILL to the process and its group. */
  kill(): void;
}

/**
 * Starts the running runtime on the warden's bundle, with every permission that can be left out left out, behind the
 * walls of the operating system.
 * @throws {BulkheadError} `unavailable` when a wall is required and missing
 */
export async function startGuarded(options: GuardedOptions): Promise<GuardedProcess> {
  // A wholly empty environment hangs one of the runtimes at start; HOME is a private, empty folder.
  const home = await mkdtemp(join(tmpdir(), "bulkhead-warden-"));
  const removeHome = () => rm(home, { recursive: true, force: true });
  const mark: Record<string, string> = options.children ? { [markName]: `${options.children.mark}.warden` } : {};
  const plain = { file: execPathForOthers, args: argumentsFor(options.file), env: { HOME: home, ...mark }, cwd: home };
  const confinement = { ...options.confinement, readable: [dirname(options.file)] };
  const confined = await confine(plain, confinement, { uses: options.osWalls }).catch(async (error: unknown) => {
    await removeHome();
    throw error;
  });
  const { file, args, env, cwd } = confined.command;
  const child = spawn(file, args, {
    cwd,
    env,
    stdio: sealedStreams(["ignore", "pipe", "pipe", "pipe"]),
    detached: true,
    windowsHide: true,
  });
  dropSeals(child, 4);
  const forget = record(child, { home, children: options.children });
  const exited = new Promise<{ exit_code: number | null; signal: string | null }>((resolve) => {
    child.once("error", () => resolve({ exit_code: null, signal: null }));
    child.once("exit", (exit_code, signal) => resolve(containerEnd({ exit_code, signal })));
  });
  const gone = exited.then(async (end) => {
    await Promise.all([removeHome(), confined.release()]);
    forget();
    return end;
  });
  const pipe = child.stdio[3] as Duplex;
  pipe.on("error", () => {});
  return {
    pid: child.pid ?? 0,
    osWalls: confined.walls,
    write: (bytes) => {
      if (!pipe.destroyed) pipe.write(bytes);
    },
    onBytes: (take) => void pipe.on("data", take),
    hold: (isHeld) => void (isHeld ? pipe.pause() : pipe.resume()),
    onClosed: (take) => void pipe.once("end", take),
    unread: () => pipe.writableLength,
    printed: keepTail([child.stdout, child.stderr], options.keepText),
    exited: gone,
    kill: () => killGroup(child),
  };
}

function record(
  { pid }: ChildProcess,
  { home, children }: { home: string; children: ChildLedger | undefined },
): () => void {
  if (pid === undefined || !children) return () => {};
  return children.add({ pid, start: processStart(pid), role: "warden", folder: home });
}

function argumentsFor(file: string): string[] {
  const folder = dirname(file);
  if (runtimeName === "deno") {
    return [
      "run",
      "--quiet",
      "--no-prompt",
      "--no-config",
      "--no-lock",
      "--no-remote",
      "--no-npm",
      `--allow-read=${folder}`,
      file,
    ];
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
