import { type ChildProcess, spawn } from "node:child_process";
import { type Server, Socket } from "node:net";
import { constants } from "node:os";
import type { Readable, Writable } from "node:stream";
import { getSystemErrorName } from "node:util";
import { startBackgroundTimer } from "../engine/background-timer.ts";
import { sealedStreams } from "./inherited-descriptors.ts";
import { joinBytes } from "../files/join-bytes.ts";
import { launcherArguments } from "./launcher-script.ts";
import { isBwrapsOwn, withMadeView, withVerifiedMounts } from "../os-walls/command-chain.ts";
import type { Command } from "../os-walls/os-wall.ts";
import { findProgram } from "../os-walls/try-program.ts";
import { platform, runtimeName } from "../engine/platform.ts";

/** A program that the launcher started, in a session and a process group of its own. */
export interface LaunchedProgram {
  pid: number;
  stdin: Writable | null;
  stdout: Readable;
  stderr: Readable;
  exited: Promise<{ exit_code: number | null; signal: string | null }>;
}

interface LaunchOptions {
  /** `closed` is an empty input. */
  stdin: "open" | "closed";
  /** Whether the system kills it when the host is gone; default: no. A program that contains itself sees to that. */
  endsWithHost?: boolean;
  /**
   * For bwrap as the program: it makes its walls at once, and runs what it contains when this has resolved. It never
   * does when this rejects; then the caller ends it. Default: at once.
   */
  mayRun?: Promise<void> | undefined;
}

/** Ports that are open in a network of their own. */
export interface OpenedPorts {
  /** A process in that network. */
  pid: number;
  servers: ReadonlyMap<number, Server>;
  /** Ends the process. */
  release(): void;
}

/** Time without a program after which the launcher ends; it takes 3 ms to start. Milliseconds. */
const idleMs = 10_000;

/** Programs at once; the launcher keeps an open file for each. */
const mostPrograms = 900;

/** Starts the launcher, so that the first program need not wait for it. */
export function prepareLauncher(): Promise<boolean> {
  return launcher().then((found) => found !== null);
}

/** Ends the launcher, unless one of its programs runs. */
export async function dropLauncher(): Promise<void> {
  (await current)?.dropUnused();
}

/**
 * Starts a program by a small process made for that. This one would be copied for each program, and stand still until
 * the copy has become the program: 1 ms of a quiet machine, and 10 where others want the processor.
 * @param command a name without a folder is searched on the PATH of its environment
 * @returns null where there is no launcher
 * @throws {Error} with the system's code when the program cannot be started
 */
export async function launch(
  command: Command,
  options: LaunchOptions,
): Promise<LaunchedProgram | null> {
  const found = await launcher();
  if (found === null) return null;
  if (command.view === undefined) return await found.start(command, options);
  if (!viewsFail && !isBwrapsOwn(command)) {
    try {
      return await found.start(withMadeView(command), options);
    } catch (error) {
      // Any other problem is one of this view. Bwrap would follow the link that the kernel refused.
      if (!cannotMount.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
      viewsFail = true;
    }
  }
  return await found.start(await withVerifiedMounts(command), options);
}

/**
 * Opens ports on the loopback of a new network.
 * @returns null where there is no launcher
 * @throws {Error} where the system supports no such network
 */
export async function openPorts(ports: readonly number[]): Promise<OpenedPorts | null> {
  return await (await launcher())?.open(ports) ?? null;
}

let current: Promise<Launcher | null> | null = null;

/** Set once the launcher was not let make a view: the kernel is older than 5.12, or something forbids the calls. */
let viewsFail = false;
const cannotMount = new Set(["ENOSYS", "EPERM"]);

/** Set once the launcher is missing, or has ended before it did anything. */
let fails = false;

function launcher(): Promise<Launcher | null> {
  if (fails || platform !== "linux" || runtimeName !== "node") return Promise.resolve(null);
  if (current !== null) return current;
  const starting = current = startLauncher(() => {
    if (current === starting) current = null;
  });
  return starting;
}

async function startLauncher(onOver: () => void): Promise<Launcher | null> {
  const args = launcherArguments();
  const perl = await findProgram("perl");
  if (args !== null && perl !== null) return new Launcher([perl, ...args], onOver);
  fails = true;
  return null;
}

/** A request that waits for its answer, and for so many open files. */
interface Waiting {
  files: Map<number, unknown>;
  count: number;
  answer?: Answer;
  end(answer: Answer | null): void;
}

/** A line of the launcher. */
interface Answer {
  id: number;
  pid?: number;
  errno?: number;
  code?: number;
  signal?: number;
}

class Launcher {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  readonly #running = new Map<number, (answer: Answer | null) => void>();
  #lastId = 0;
  #proven = false;
  #isOver = false;
  #stopIdle = () => {};
  readonly #onOver: () => void;

  constructor([perl = "", ...args]: readonly string[], onOver: () => void) {
    this.#onOver = onOver;
    const child = this.#process = spawn(perl, args, {
      stdio: sealedStreams(["pipe", "ignore", "ignore", "ipc"]),
      env: {},
      detached: true,
    });
    child.on("message", (message, file) => this.#hear(message as Answer | [number, number], file));
    child.on("error", () => this.#end());
    child.on("exit", () => this.#end());
    child.stdin?.on("error", () => {});
    this.#keep();
  }

  async start(
    command: Command,
    { stdin: input, endsWithHost, mayRun }: LaunchOptions,
  ): Promise<LaunchedProgram | null> {
    const { file, args, env, cwd, enters = {}, filter, openFiles, view = [] } = command;
    if (this.#running.size >= mostPrograms) return null;
    const places = [cwd, enters.user ?? "", enters.net ?? "", filter ?? ""];
    const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    // Text after a NUL would be another field, such as a variable that was not granted.
    if ([file, ...args, ...view, ...variables, ...places].some((field) => field.includes("\0"))) {
      throw systemError(constants.errno.EINVAL);
    }
    const id = ++this.#lastId;
    const exited = new Promise<Answer | null>((resolve) => this.#running.set(id, resolve));
    const asked = this.#ask(id, input === "open" ? 3 : 2, [
      "start",
      String(id),
      mayRun === undefined ? "" : "1",
      ...places,
      openFiles === undefined ? "" : String(openFiles),
      input === "open" ? "1" : "",
      endsWithHost ? "1" : "",
      String(view.length),
      String(args.length + 1),
      ...view,
      file,
      ...args,
      ...variables,
    ]);
    mayRun?.then(() => this.#running.has(id) && this.#send(["go", String(id)]), () => {});
    const { answer, files } = await asked;
    const [stdin, stdout, stderr] = [0, 1, 2].map((at) => files.get(at));
    if (answer?.pid === undefined) {
      this.#running.delete(id);
      this.#keep();
      if (answer === null) return null;
      throw systemError(answer.errno ?? 0);
    }
    return {
      pid: answer.pid,
      stdin: stdin === undefined ? null : new Socket(pipeOf(stdin, { readable: false, writable: true })),
      stdout: new Socket(pipeOf(stdout, { readable: true, writable: false })),
      stderr: new Socket(pipeOf(stderr, { readable: true, writable: false })),
      exited: exited.then(exitOf),
    };
  }

  async open(ports: readonly number[]): Promise<OpenedPorts | null> {
    const id = ++this.#lastId;
    const { answer, files } = await this.#ask(id, ports.length, ["network", String(id), ...ports.map(String)]);
    const servers = files as Map<number, Server>;
    const release = () => this.#send(["release", String(id)]);
    if (answer?.pid !== undefined) return { pid: answer.pid, servers, release };
    for (const server of servers.values()) server.close();
    release();
    if (answer === null) return null;
    throw systemError(answer.errno ?? 0);
  }

  dropUnused(): void {
    if (this.#waiting.size + this.#running.size > 0) return;
    this.#end();
    this.#process.stdin?.end();
    if (this.#process.connected) this.#process.disconnect();
  }

  #ask(
    id: number,
    count: number,
    fields: readonly string[],
  ): Promise<{ answer: Answer | null; files: Map<number, unknown> }> {
    return new Promise((resolve) => {
      const files = new Map<number, unknown>();
      const end = (answer: Answer | null) => {
        this.#waiting.delete(id);
        this.#keep();
        resolve({ answer, files });
      };
      if (this.#isOver) return end(null);
      this.#waiting.set(id, { files, count, end });
      this.#keep();
      this.#send(fields);
    });
  }

  #send(fields: readonly string[]): void {
    if (this.#isOver) return;
    const request = new TextEncoder().encode(fields.join("\0"));
    this.#process.stdin?.write(joinBytes([new TextEncoder().encode(`${request.byteLength}\n`), request]));
  }

  #hear(message: Answer | [number, number], file: unknown): void {
    this.#proven = true;
    const id = Array.isArray(message) ? message[0] : message.id;
    const waiting = this.#waiting.get(id);
    if (Array.isArray(message)) waiting?.files.set(message[1], file);
    else if (message.code !== undefined) this.#ended(message);
    else if (waiting) waiting.answer = message;
    if (waiting?.answer === undefined) return;
    // A server that was handed over is reported later than it came.
    if (waiting.files.size === waiting.count || waiting.answer.pid === undefined) waiting.end(waiting.answer);
  }

  #ended(answer: Answer): void {
    this.#running.get(answer.id)?.(answer);
    this.#running.delete(answer.id);
    this.#keep();
  }

  /** The launcher keeps this process alive while something of it is under way, and ends when nothing was for a while. */
  #keep(): void {
    this.#stopIdle();
    if (this.#isOver) return;
    const isUsed = this.#waiting.size + this.#running.size > 0;
    this.#hold(isUsed ? "ref" : "unref");
    if (!isUsed) this.#stopIdle = startBackgroundTimer(() => this.dropUnused(), idleMs);
  }

  #hold(act: "ref" | "unref"): void {
    const { channel, stdin } = this.#process;
    this.#process[act]();
    channel?.[act]();
    if (stdin instanceof Socket) stdin[act]();
  }

  /** Those who wait get nothing, and what runs without the launcher counts as killed. */
  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    fails ||= !this.#proven && this.#waiting.size > 0;
    this.#stopIdle();
    this.#hold("unref");
    this.#onOver();
    for (const { end } of [...this.#waiting.values()]) end(null);
    for (const end of this.#running.values()) end(null);
    this.#running.clear();
  }
}

/** Node makes such a stream of an open handle as well, which its types do not say. */
function pipeOf(handle: unknown, ways: { readable: boolean; writable: boolean }): object {
  return { handle, ...ways };
}

function systemError(errno: number): Error {
  const code = errno > 0 ? getSystemErrorName(-errno) : "EIO";
  return Object.assign(new Error(`the system answered ${code}`), { code });
}

const signalNames = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

function exitOf(answer: Answer | null): Awaited<LaunchedProgram["exited"]> {
  if (answer === null) return { exit_code: null, signal: "SIGKILL" };
  const { code = 0, signal = 0 } = answer;
  if (signal === 0) return { exit_code: code, signal: null };
  return { exit_code: null, signal: signalNames.get(signal) ?? `SIG${signal}` };
}
