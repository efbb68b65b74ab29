import satisfies from "semver/functions/satisfies.js";
import process from "node:process";
import { type ChildProcess, spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { Socket } from "node:net";
import type { Duplex, Readable, Writable } from "node:stream";
import { confine, type ConfinedCommand } from "../os-walls/confine.ts";
import type { Command, Confinement, OsWallName, OsWallUses } from "../os-walls/os-wall.ts";
import { containerEnd } from "./child-process.ts";
import type { ChildLedger } from "./child-ledger.ts";
import { dropSeals, sealedStreams, type StreamKind } from "./inherited-descriptors.ts";
import { execPathForOthers, runtimeName } from "../engine/platform.ts";
import { markName } from "./process-mark.ts";
import { processStart } from "./process-rows.ts";
import { onNextTurn } from "../engine/next-turn.ts";

/** Permissions of a bundler that a warden does not have: read files, and start one program. */
interface BundlerRights {
  /** Absolute path of the one program. */
  program: string;
  /** Megabytes of V8's heap. */
  heapMb: number;
  env: Readonly<Record<string, string>>;
}

interface GuardedOptions {
  /** Absolute path of the bundled warden; it may read only the folder of this file. */
  file: string;
  /** Characters of its output to keep for error messages: the last ones, for a bundler the first. */
  keepText: number;
  /** Walls of the operating system to use, and their limits. */
  osWalls: OsWallUses;
  confinement: Omit<Confinement, "readable">;
  /** Pipes for single threads of it, beside its own; absent: none. */
  threadPipes?: number;
  /** Absent: a warden. */
  bundler?: BundlerRights | undefined;
  /** Records the process, so that the next host finds it when this one is killed. */
  children?: ChildLedger | undefined;
}

/** The host's end of a pipe to such a process. */
export interface BytePipe {
  write(bytes: Uint8Array): void;
  onBytes(take: (bytes: Uint8Array) => void): void;
  /** Stops reading, which blocks the other end when the pipe is full, or reads on. */
  hold(isHeld: boolean): void;
  /** Called when the other end is closed and all that came from it was read. */
  onClosed(take: () => void): void;
  /** Bytes written and not yet read by the other end. */
  unread(): number;
}

/** A pipe that a thread of the process opens by its number. */
export interface ThreadPipe extends BytePipe {
  readonly descriptor: number;
}

/** A process without permissions, with a byte pipe to it. */
export interface GuardedProcess extends BytePipe {
  /** Pid of the outermost program: the wall that contains the runtime, where there is one. */
  readonly pid: number;
  /** The operating system's walls around it. */
  readonly osWalls: readonly OsWallName[];
  readonly threadPipes: readonly ThreadPipe[];
  /** Its last output, on either stream; for a bundler its first. */
  printed(): string;
  readonly exited: Promise<{ exit_code: number | null; signal: string | null }>;
  /** Sets whether the process keeps this one alive; at first it does, and on Deno always. */
  holdHost(holds: boolean): void;
  /** SIGKILL to the process and its group. */
  kill(): void;
}

/**
 * Starts the current runtime on the warden's bundle, with the fewest permissions possible, behind the walls of the
 * operating system.
 * @throws {BulkheadError} `unavailable` when a wall is required and missing
 */
export async function startGuarded(options: GuardedOptions): Promise<GuardedProcess> {
  const { bundler, children } = options;
  const confined = await confineByWalls(options);
  const streams: StreamKind[] = ["ignore", "pipe", "pipe", "pipe"];
  const firstOfThreads = streams.length;
  streams.push(...Array<StreamKind>(options.threadPipes ?? 0).fill("pipe"));
  const child = spawnSealed(confined.command, streams);
  const forget = record(child, children);
  const exited = exitOf(child).then(async (end) => {
    await confined.release();
    forget();
    return end;
  });
  return {
    pid: child.pid ?? 0,
    osWalls: confined.walls,
    ...bytePipe(child.stdio[3] as Duplex),
    threadPipes: child.stdio.slice(firstOfThreads, streams.length)
      .map((pipe, at) => ({ descriptor: firstOfThreads + at, ...bytePipe(pipe as Duplex) })),
    holdHost: (holds) => holdHost(child, holds),
    printed: keepText([child.stdout, child.stderr], { characters: options.keepText, of: bundler ? "head" : "tail" }),
    exited,
    kill: () => killGroup(child),
  };
}

function bytePipe(pipe: Duplex): BytePipe {
  pipe.on("error", () => {});
  return {
    write: writeTogether(pipe),
    onBytes: (take) => void pipe.on("data", take),
    hold: (isHeld) => void (isHeld ? pipe.pause() : pipe.resume()),
    onClosed: (take) => void pipe.once("end", take),
    unread: () => pipe.writableLength,
  };
}

/**
 * An empty environment hangs one of the runtimes at start. This path does not exist and no system lets a process make it, so
 * that nothing is left of it when the host is killed.
 */
const noHome = "/proc/none";

/** Builds the command behind the walls of the system. */
async function confineByWalls(options: GuardedOptions): Promise<ConfinedCommand> {
  const { file, bundler, osWalls } = options;
  const confinement = { ...options.confinement, readable: bundler ? "all" as const : [dirname(file)] };
  return await confine(plainCommand(options), confinement, { uses: osWalls });
}

/** The runtime with its own permissions, without the walls of the system. */
function plainCommand({ file, bundler, children }: GuardedOptions): Command {
  const mark: Record<string, string> = children ? { [markName]: `${children.mark}.warden` } : {};
  // One of the runtimes paints its errors also where no terminal reads them.
  const env = { ...bundler?.env, HOME: noHome, NO_COLOR: "1", ...mark };
  const args = bundler ? bundlerArguments(file, bundler) : argumentsFor(file);
  return { file: execPathForOthers, args, env, cwd: "/" };
}

function spawnSealed({ file, args, env, cwd }: Command, streams: readonly StreamKind[]): ChildProcess {
  const stdio = sealedStreams(streams);
  const child = spawn(file, args, { cwd, env, stdio, detached: true, windowsHide: true });
  dropSeals(child, streams.length);
  return child;
}

function exitOf(child: ChildProcess): GuardedProcess["exited"] {
  return new Promise((resolve) => {
    child.once("error", () => resolve({ exit_code: null, signal: null }));
    child.once("exit", (exit_code, signal) => resolve(containerEnd({ exit_code, signal })));
  });
}

function holdHost(child: ChildProcess, holds: boolean): void {
  const act = holds ? "ref" : "unref";
  child[act]();
  // On Deno the pipes follow the process; a call would only add a listener to each, every time.
  if (runtimeName === "deno") return;
  // The pipes are sockets, although their declared type does not say so.
  for (const stream of child.stdio) if (stream instanceof Socket) stream[act]();
}

function record({ pid }: ChildProcess, children: ChildLedger | undefined): () => void {
  if (pid === undefined || !children) return () => {};
  return children.add({ pid, start: processStart(pid), role: "warden" });
}

/** Arguments of a Deno that asks nothing and loads nothing but its file. */
const denoAlone = ["run", "--quiet", "--no-prompt", "--no-config", "--no-lock", "--no-remote", "--no-npm"];

/** Arguments of a Node without native code and without `__proto__`. */
const nodeAlone = ["--no-addons", "--no-warnings", "--disable-proto=delete"];

function argumentsFor(file: string): string[] {
  const folder = dirname(file);
  if (runtimeName === "deno") {
    return [...denoAlone, `--allow-read=${folder}`, file];
  }
  return [
    ...nodePermissionFlags(),
    "--allow-worker",
    `--allow-fs-read=${join(folder, "*")}`,
    ...nodeAlone,
    file,
  ];
}

function bundlerArguments(file: string, { program, heapMb }: BundlerRights): string[] {
  const heap = `--max-old-space-size=${heapMb}`;
  if (runtimeName === "deno") {
    return [
      ...denoAlone,
      "--allow-read",
      "--allow-env",
      `--allow-run=${program}`,
      `--v8-flags=${heap}`,
      file,
    ];
  }
  return [
    ...nodePermissionFlags(),
    "--allow-fs-read=*",
    "--allow-child-process",
    ...nodeAlone,
    heap,
    file,
  ];
}

/**
 * No permissions. But after 26.10 Node opens a pipe by its number only for who has the network, so there each thread
 * starts with it and gives it up (`dropNetwork`).
 */
function nodePermissionFlags(): string[] {
  const { node } = process.versions;
  if (satisfies(node, "<22.13")) return ["--experimental-permission"];
  return satisfies(node, "<=26.10") ? ["--permission"] : ["--permission", "--allow-net"];
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    child.kill("SIGKILL");
  }
}

/**
 * Drains streams, which would otherwise block the child, and keeps the end of their text, or its beginning: the program
 * of a bundler first prints why it dies, and then its stack.
 */
function keepText(
  streams: (Readable | null)[],
  { characters, of }: { characters: number; of: "head" | "tail" },
): () => string {
  let kept = "";
  for (const stream of streams) {
    stream?.on("error", () => {});
    stream?.setEncoding("utf8").on("data", (text: string) => {
      if (of === "tail") kept = (kept + text).slice(-characters);
      else if (kept.length < characters) kept = (kept + text).slice(0, characters);
    });
  }
  return () => kept;
}

/**
 * Writes to a pipe at most twice in a turn of the event loop: what comes first at once, so that its reader can begin, and
 * all that comes later in the turn together. Each write is a call of the system, and on a busy machine the system runs
 * the reader before it returns.
 */
export function writeTogether(pipe: Writable): (bytes: Uint8Array) => void {
  let isGathering = false;
  return (bytes) => {
    if (pipe.destroyed) return;
    pipe.write(bytes);
    if (isGathering) return;
    isGathering = true;
    pipe.cork();
    onNextTurn(() => {
      isGathering = false;
      pipe.uncork();
    });
  };
}
