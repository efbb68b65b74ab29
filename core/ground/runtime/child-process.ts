import { spawn } from "node:child_process";
import { stat } from "node:fs/promises";
import type { Writable } from "node:stream";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { type ByteReader, PullReader } from "./byte-reader.ts";
import { dropSeals, sealedStreams } from "./inherited-descriptors.ts";
import { execPath, execPathForOthers } from "./platform.ts";
import { processStart } from "./process-rows.ts";
import { openProgramPipes, type ProgramPipes } from "./program-pipes.ts";
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
  /**
   * Resolves when the pipe took the text.
   * @throws {BulkheadError} `io_error` when standard input is closed
   */
  writeStdin(text: string): Promise<void>;
  closeStdin(): void;
}

/** Options of {@link spawnChild}. */
export interface SpawnChildOptions {
  cwd: string;
  /** The whole environment: nothing of the host's is added but the mark. */
  env: Record<string, string>;
  /** `closed` is an empty input, not a terminal. */
  stdin: "open" | "closed";
  /** Kind of its standard streams, where the runtime has both; default: `pipes`. */
  streams?: "pipes" | "sockets";
  /** Random text in the environment of the whole tree, by which `killTree` finds it. */
  mark: string;
  /** Its name in errors, where a wall starts it; default: the file. */
  name?: string;
}

/** How long output is waited for after the program is gone, if what it left behind holds the pipe. Milliseconds. */
const lingerMs = 1000;

/**
 * Starts a program from an argument list, without a shell.
 *
 * @throws {BulkheadError} `binary_missing`, `not_found` (the folder), `too_large` (arguments), `limit_exceeded`,
 * `io_error`
 */
export async function spawnChild(
  file: string,
  args: readonly string[],
  options: SpawnChildOptions,
): Promise<ChildProcess> {
  // A missing folder and a missing program fail with the same ENOENT.
  await checkFolder(options.cwd);
  const pipes = options.streams === "sockets" ? null : await openProgramPipes(options);
  const { child, stdin, ...outputs } = start(file, args, { ...options, pipes });
  const failed = new Promise<unknown>((resolve) => child.on("error", resolve));
  stdin?.on("error", () => {});
  // Each write under way listens for the end; how many there may be is the broker's affair.
  stdin?.setMaxListeners(0);
  const exited = new Promise<ExitStatus>((resolve) => {
    child.on("exit", (exit_code, signal) => resolve({ exit_code, signal }));
  });
  if (child.pid === undefined || outputs.stdout === null || outputs.stderr === null) {
    closeAll(pipes);
    throw spawnError(file, await failed);
  }
  const startTime = processStart(child.pid);
  const stdout = new PullReader(outputs.stdout, { onCancel: "drain" });
  const stderr = new PullReader(outputs.stderr, { onCancel: "drain" });
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
    writeStdin: (text) => write(stdin, { text, name: options.name ?? file }),
    closeStdin: () => void stdin?.end(),
  };
}

function start(
  file: string,
  args: readonly string[],
  { pipes, ...options }: SpawnChildOptions & { pipes: ProgramPipes | null },
) {
  try {
    const child = spawn(file, args.map((arg) => (arg === execPath ? execPathForOthers : arg)), {
      cwd: options.cwd,
      env: { ...options.env, [markName]: options.mark },
      stdio: sealedStreams(pipes?.theirs ?? [options.stdin === "open" ? "pipe" : "ignore", "pipe", "pipe"]),
      detached: true,
      shell: false,
      windowsHide: true,
    });
    dropSeals(child, 3);
    const { stdin, stdout, stderr } = pipes ?? child;
    return { child, stdin, stdout, stderr };
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
      if (error) reject(closed(error));
      else resolve();
    });
  });
}

function spawnError(file: string, cause: unknown): BulkheadError {
  const code = systemCode(cause);
  if (code === "ENOENT") {
    return new BulkheadError("binary_missing", `Cannot start "${file}": the program was not found.`, { cause });
  }
  if (code === "E2BIG") {
    return new BulkheadError("too_large", `Cannot start "${file}": its arguments are too large for the system.`, {
      cause,
    });
  }
  if (code === "EAGAIN" || code === "EMFILE" || code === "ENFILE") {
    return new BulkheadError("limit_exceeded", `Cannot start "${file}": the system is out of processes or files.`, {
      cause,
    });
  }
  return new BulkheadError("io_error", `Cannot start "${file}": the system refused it (${code}).`, { cause });
}

function systemCode(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "unknown";
}
