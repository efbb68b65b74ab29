import { codeOf } from "../../errors/write-fault.ts";
import { spawn } from "node:child_process";
import { stat } from "node:fs/promises";
import type { Readable, Writable } from "node:stream";
import { constants } from "node:os";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { toBulkheadError } from "../../errors/to-error-data.ts";
import { type ByteReader, PullReader } from "../files/byte-reader.ts";
import { dropSeals, sealedStreams } from "./inherited-descriptors.ts";
import { dropLauncher, launch, prepareLauncher } from "./launcher.ts";
import { commandChain } from "../os-walls/command-chain.ts";
import type { Command } from "../os-walls/os-wall.ts";
import { verifyMounts } from "../os-walls/verify-mounts.ts";
import { execPath, execPathForOthers } from "../engine/platform.ts";
import { processStart } from "./process-rows.ts";
import { type FirstProcess, firstProcessIn } from "./process-space.ts";
import { dropProgramPipes, openProgramPipes, prepareProgramPipes, type ProgramPipes } from "./program-pipes.ts";
import { markName } from "./process-mark.ts";

/** How a program ended; one of the two is null. */
export interface ExitStatus {
  exit_code: number | null;
  signal: string | null;
}

/** A child process with streams both ways. It leads its own session and process group. */
export interface ChildProcess {
  readonly pid: number;
  /** When it started, as the system says it; null where that cannot be told. Guards against a pid used again. */
  readonly startTime: string | null;
  readonly stdout: ByteReader;
  readonly stderr: ByteReader;
  readonly exited: Promise<ExitStatus>;
  /** First process of the namespace in which it contains the real program; null where that is not known. */
  first(): FirstProcess | null;
  /**
   * Resolves when the pipe took the text.
   * @throws {BulkheadError} `io_error` when standard input is closed
   */
  writeStdin(text: string): Promise<void>;
  closeStdin(): void;
}

/** Options of {@link spawnChild}. */
export interface SpawnChildOptions extends Pick<Command, "enters" | "filter" | "openFiles" | "view"> {
  cwd: string;
  /** The whole environment: nothing of the host's is added but the mark. */
  env: Record<string, string>;
  /** `closed` is an empty input, not a terminal. */
  stdin: "open" | "closed";
  /** Kind of its standard streams where the launcher does not open them and the runtime has both; default: `pipes`. */
  streams?: "pipes" | "sockets";
  /** Random text in the environment of the whole tree, by which `killTrees` finds it. */
  mark: string;
  /** Its name in errors, where a wall starts it; default: the file. */
  name?: string;
  /** True for a program that contains the real one in a PID namespace of its own. */
  contained?: boolean;
  /**
   * The program runs no instruction before this has resolved. One that is contained is put behind its walls meanwhile,
   * and is there when this rejects: then the caller ends it. Default: it runs at once.
   */
  mayRun?: Promise<void> | undefined;
}

/** How long output is waited for after the program is gone, if what it left behind holds the pipe. Milliseconds. */
const lingerMs = 1000;

/**
 * Starts a program from an argument list, without a shell.
 *
 * @throws {BulkheadError} `binary_missing`, `not_found` (the folder), `too_large` (arguments), `limit_exceeded`,
 * `io_error`; what `mayRun` rejects with, unless the program waits behind its walls
 */
export async function spawnChild(
  file: string,
  args: readonly string[],
  options: SpawnChildOptions,
): Promise<ChildProcess> {
  let { mayRun } = options;
  mayRun?.then(() => (mayRun = undefined), () => {});
  const { child, exited } = await start(commandOf(file, args, options), { ...options, mayRun })
    .catch(async (error: unknown) => {
      // A missing folder and a missing program fail with the same ENOENT.
      const { code } = toBulkheadError(error);
      if (code === "binary_missing" || code === "io_error") await checkFolder(options.cwd);
      throw error;
    });
  const { stdin } = child;
  stdin?.on("error", () => {});
  // Each write under way listens for the end; how many there may be is the broker's affair.
  stdin?.setMaxListeners(0);
  const startTime = processStart(child.pid);
  let first: FirstProcess | null = null;
  const findFirst = () => first ??= options.contained === true ? firstProcessIn({ pid: child.pid, startTime }) : null;
  // It cannot be found any more when the program has ended.
  child.stdout.once("data", findFirst);
  const stdout = new PullReader(child.stdout, { onCancel: "drain" });
  const stderr = new PullReader(child.stderr, { onCancel: "drain" });
  void exited.then(() => {
    stdout.endAfterSilence(lingerMs);
    stderr.endAfterSilence(lingerMs);
    stdin?.destroy();
  });
  return {
    pid: child.pid,
    startTime,
    stdout,
    stderr,
    exited,
    first: findFirst,
    writeStdin: (text) => write(stdin, { text, name: options.name ?? file }),
    closeStdin: () => void stdin?.end(),
  };
}

/** Makes ahead what programs need to start, so that the first one need not wait for it. */
export function preparePrograms(): void {
  void prepareLauncher().then((isThere) => isThere || prepareProgramPipes());
}

/** Drops what was made ahead; a later program makes it again. */
export async function dropPrograms(): Promise<void> {
  await Promise.all([dropLauncher(), dropProgramPipes()]);
}

/** A program that has started, with its streams. */
interface Started {
  child: { pid: number; stdin: Writable | null; stdout: Readable; stderr: Readable };
  exited: Promise<ExitStatus>;
}

function commandOf(file: string, args: readonly string[], options: SpawnChildOptions): Command {
  const { cwd, env, mark, enters, filter, openFiles, view } = options;
  return {
    file,
    args: [...args],
    env: { ...env, [markName]: mark },
    cwd,
    enters,
    filter,
    openFiles,
    view,
  };
}

async function start(command: Command, options: SpawnChildOptions): Promise<Started> {
  const { contained = false, streams, mayRun } = options;
  if (!contained) await mayRun;
  const launched = await launch(command, { ...options, mayRun: contained ? mayRun : undefined })
    .catch(async (error: unknown) => {
      throw spawnError(command.file, await withPlace(error, command));
    });
  if (launched !== null) return { child: launched, exited: launched.exited };
  await mayRun;
  return await startHere(command, {
    ...options,
    pipes: streams === "sockets" ? null : await openProgramPipes(options),
  });
}

/** Finds the place before which the launcher met a link. */
async function withPlace(error: unknown, { view }: Command): Promise<unknown> {
  if (view === undefined || codeOf(error) !== "ELOOP") return error;
  return await verifyMounts(view).then(() => error, (found: unknown) => found);
}

/** Starts a program as a child of this process. */
async function startHere(
  command: Command,
  { pipes, stdin: input }: { pipes: ProgramPipes | null; stdin: "open" | "closed" },
): Promise<Started> {
  const { file, args, cwd, env } = await commandChain(command);
  // The words of a view may name the runtime's file, too.
  const own = args.map((arg) => (arg === execPath ? execPathForOthers : arg));
  const child = spawnWith(pipes, () =>
    spawn(file, own, {
      cwd,
      env,
      stdio: sealedStreams(pipes?.theirs ?? [input === "open" ? "pipe" : "ignore", "pipe", "pipe"]),
      detached: true,
      shell: false,
      windowsHide: true,
    }), file);
  const failed = new Promise<unknown>((resolve) => child.on("error", resolve));
  const exited = new Promise<ExitStatus>((resolve) => {
    child.on("exit", (exit_code, signal) => resolve({ exit_code, signal }));
  });
  const { stdin, stdout, stderr } = pipes ?? child;
  if (child.pid === undefined || stdout === null || stderr === null) {
    closeAll(pipes);
    throw spawnError(file, await failed);
  }
  return { child: { pid: child.pid, stdin, stdout, stderr }, exited };
}

function spawnWith(pipes: ProgramPipes | null, act: () => ReturnType<typeof spawn>, file: string) {
  try {
    const child = act();
    dropSeals(child, 3);
    return child;
  } catch (error) {
    closeAll(pipes);
    throw spawnError(file, error);
  } finally {
    pipes?.closeTheirs();
  }
}

function closeAll(pipes: ProgramPipes | null): void {
  pipes?.stdin?.destroy();
  pipes?.stdout.destroy();
  pipes?.stderr.destroy();
}

async function checkFolder(cwd: string): Promise<void> {
  const info = await stat(cwd).catch(() => null);
  if (info?.isDirectory()) return;
  throw new BulkheadError("not_found", `Cannot start a program in "${cwd}": the folder does not exist.`);
}

function write(stdin: Writable | null, { text, name }: { text: string; name: string }): Promise<void> {
  const closed = (cause?: unknown) =>
    new BulkheadError("io_error", `Cannot write to "${name}": its standard input is closed.`, { cause });
  if (stdin === null || stdin.destroyed || stdin.writableEnded) return Promise.reject(closed());
  return new Promise((resolve, reject) => {
    const onClose = () => reject(closed());
    stdin.once("close", onClose);
    stdin.write(text, (error) => {
      stdin.off("close", onClose);
      // A stream that was destroyed first answers without an error, though bytes were left.
      if (error || stdin.destroyed) reject(closed(error));
      else resolve();
    });
  });
}

function spawnError(file: string, cause: unknown): BulkheadError {
  const code = codeOf(cause) || "unknown";
  if (code === "ENOENT") {
    return new BulkheadError("binary_missing", `Cannot start "${file}": the program was not found.`, { cause });
  }
  if (code === "E2BIG") {
    return new BulkheadError("too_large", `Cannot start "${file}": its arguments are too large for the system.`, {
      cause,
    });
  }
  if (code === "ELOOP") {
    const place = cause instanceof Error && "place" in cause ? `"${String(cause.place)}"` : "a place in its view";
    return new BulkheadError(
      "io_error",
      `Cannot contain the program: a link stands on the way to ${place}.`,
      {
        hint: "An agent may have put it there. Look for links in the project and in the folders above it.",
        cause,
      },
    );
  }
  if (code === "EAGAIN" || code === "EMFILE" || code === "ENFILE") {
    return new BulkheadError("limit_exceeded", `Cannot start "${file}": the system is out of processes or files.`, {
      cause,
    });
  }
  return new BulkheadError("io_error", `Cannot start "${file}": the system refused it (${code}).`, { cause });
}

/** How a program in a container ended: the container ends with 128 + n where signal n ended the program. */
export function containerEnd({ exit_code, signal }: ExitStatus): ExitStatus {
  const name = Object.entries(constants.signals).find(([, number]) => number + 128 === exit_code)?.[0];
  return name === undefined ? { exit_code, signal } : { exit_code: null, signal: name };
}
