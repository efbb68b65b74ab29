import { stat } from "node:fs/promises";
import type { Readable } from "node:stream";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { joinBytes } from "../files/join-bytes.ts";
import type { LaunchedProgram } from "./launcher.ts";
import type { Command } from "../os-walls/os-wall.ts";
import { startPlainProgram } from "./plain-program.ts";
import { hostEnv, hostEnvironment } from "../engine/platform.ts";
import { delimiter, isAbsolute } from "../files/paths.ts";
import { sendSignal } from "./send-signal.ts";

/** Options of {@link runGit}. */
export interface GitRunOptions {
  cwd: string;
  /** The whole environment besides `PATH`; nothing is inherited. */
  env: Record<string, string>;
  /** Kills git; the run then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  stdin?: Uint8Array | undefined;
  /** Puts git behind walls; default: none. */
  wrap?: ((command: Command) => Promise<Command>) | undefined;
  /** Takes stdout piece by piece; `stdout` of the outcome is then empty. What it throws ends git and is the run's error. */
  onStdout?: ((chunk: Uint8Array) => void) | undefined;
}

/** Result of a run of git. */
export interface GitOutcome {
  /** Null when a signal ended git. */
  exit_code: number | null;
  stdout: Uint8Array;
  /** At most the first 64 KiB. */
  stderr: string;
}

const stderrLimit = 65_536;

/** Bytes of stdout that a run may hold in memory. An agent can make a repository whose lists never end. */
export const mostStdoutBytes: number = 128 * 1024 * 1024;

/**
 * Runs git once, without a shell, and waits for it.
 * @throws {BulkheadError} `git_missing`, `workdir_missing`, `io_error` when it cannot be started, `too_large` for more
 * than {@link mostStdoutBytes} of stdout; else the signal's reason
 */
export async function runGit(args: readonly string[], options: GitRunOptions): Promise<GitOutcome> {
  options.signal?.throwIfAborted();
  const env = { ...options.env, PATH: absolutePath() };
  const plain = { file: "git", args: [...args], cwd: options.cwd, env };
  const command = await options.wrap?.(plain) ?? plain;
  try {
    const input = options.stdin === undefined ? "closed" : "open";
    const started = await startPlainProgram(command, { stdin: input, endsWithHost: true });
    return await outcomeOf(started, { ...options, args });
  } catch (error) {
    options.signal?.throwIfAborted();
    if (!isSystemError(error)) throw error;
    throw await startError(error, options.cwd);
  }
}

async function outcomeOf(
  git: LaunchedProgram,
  options: GitRunOptions & { args: readonly string[] },
): Promise<GitOutcome> {
  const { signal, args } = options;
  const stdout: Uint8Array[] = [];
  const stderr: Uint8Array[] = [];
  let stdoutBytes = 0;
  let stderrBytes = 0;
  let isEnded = false;
  let end = (_reason: unknown): void => {};
  const ended = new Promise<never>((_, reject) => {
    end = (reason) => {
      isEnded = true;
      sendSignal(git.pid, "SIGKILL");
      reject(reason as Error);
    };
  });
  ended.catch(() => {});
  const abort = () => end(signal?.reason);
  if (signal?.aborted) abort();
  signal?.addEventListener("abort", abort, { once: true });
  const hold = (chunk: Uint8Array) => {
    stdoutBytes += chunk.byteLength;
    if (stdoutBytes > mostStdoutBytes) throw tooMuch(args, `more than ${mostStdoutBytes} bytes`);
    stdout.push(chunk);
  };
  const take = options.onStdout ?? hold;
  const ends = [endOf(git.stdout), endOf(git.stderr)];
  git.stdout.on("data", (chunk: Uint8Array) => {
    if (isEnded) return;
    try {
      take(chunk);
    } catch (error) {
      end(error);
    }
  });
  git.stderr.on("data", (chunk: Uint8Array) => {
    if (stderrBytes < stderrLimit) stderr.push(chunk);
    stderrBytes += chunk.byteLength;
  });
  // git may close its stdin before it has read everything; its exit code tells why.
  git.stdin?.on("error", () => undefined);
  git.stdin?.end(options.stdin);
  try {
    const [{ exit_code }] = await Promise.race([Promise.all([git.exited, ...ends]), ended]);
    const text = new TextDecoder().decode(joinBytes(stderr)).slice(0, stderrLimit);
    return { exit_code, stdout: joinBytes(stdout), stderr: text };
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}

/** The error of a run that tells more than the host can hold. */
export function tooMuch([command = ""]: readonly string[], what: string): BulkheadError {
  return new BulkheadError("too_large", `git ${command} tells ${what}, and more is not read.`);
}

function endOf(stream: Readable): Promise<void> {
  return new Promise((resolve) => {
    stream.once("close", resolve);
    stream.on("error", () => undefined);
  });
}

function isSystemError(error: unknown): error is Error & { code?: string } {
  return error instanceof Error && !(error instanceof BulkheadError);
}

/** The host's `PATH` without relative entries: they would run a file of the working directory as git. */
/** The user's own environment, for log-ins, and more; git's own variables could point it elsewhere. */
export function userGitEnvironment(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const own = Object.entries(hostEnvironment()).filter(([name, value]) =>
    value !== undefined && !name.startsWith("GIT_")
  );
  return { ...Object.fromEntries(own) as Record<string, string>, GIT_TERMINAL_PROMPT: "0", ...more };
}

function absolutePath(): string {
  return (hostEnv("PATH") ?? "").split(delimiter).filter((entry) => isAbsolute(entry)).join(delimiter);
}

async function startError(error: Error & { code?: string }, cwd: string): Promise<BulkheadError> {
  if (error.code === "ENOENT") {
    // The system reports a missing program and a missing folder with the same code.
    if (!(await stat(cwd).then((found) => found.isDirectory(), () => false))) {
      return new BulkheadError("workdir_missing", `Cannot run git in "${cwd}": it is not a folder.`, { cause: error });
    }
    return new BulkheadError("git_missing", "Cannot run git: it was not found on the PATH.", { cause: error });
  }
  return new BulkheadError("io_error", `Cannot run git: ${error.message}.`, { cause: error });
}
