import { spawn } from "node:child_process";
import { stat } from "node:fs/promises";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { joinBytes } from "./join-bytes.ts";
import { hostEnv } from "./platform.ts";
import { delimiter, isAbsolute } from "./paths.ts";

/** Options of {@link runGit}. */
export interface GitRunOptions {
  cwd: string;
  /** The whole environment besides `PATH`; nothing is inherited. */
  env: Record<string, string>;
  /** Kills git; the run then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  stdin?: Uint8Array | undefined;
  /** Takes stdout piece by piece; `stdout` of the outcome is then empty. */
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

/**
 * Runs git once, without a shell, and waits for it.
 * @throws {BulkheadError} `git_missing`, `workdir_missing`, `io_error` when it cannot be started; else the signal's
 * reason
 */
export function runGit(args: readonly string[], options: GitRunOptions): Promise<GitOutcome> {
  const { signal } = options;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const child = spawn("git", args, {
      cwd: options.cwd,
      env: { ...options.env, PATH: absolutePath() },
      stdio: ["pipe", "pipe", "pipe"],
    });
    const stdout: Uint8Array[] = [];
    const stderr: Uint8Array[] = [];
    let stderrBytes = 0;
    let unstarted = false;
    const abort = (): void => {
      child.kill("SIGKILL");
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", abort, { once: true });
    child.stdout.on("data", options.onStdout ?? ((chunk: Uint8Array) => stdout.push(chunk)));
    child.stderr.on("data", (chunk: Uint8Array) => {
      if (stderrBytes < stderrLimit) stderr.push(chunk);
      stderrBytes += chunk.byteLength;
    });
    child.on("error", (error: Error & { code?: string }) => {
      signal?.removeEventListener("abort", abort);
      unstarted = true;
      startError(error, options.cwd).then(reject);
    });
    child.on("close", (code) => {
      signal?.removeEventListener("abort", abort);
      // Node also emits this when the program did not start.
      if (unstarted) return;
      const text = new TextDecoder().decode(joinBytes(stderr)).slice(0, stderrLimit);
      resolve({ exit_code: code, stdout: joinBytes(stdout), stderr: text });
    });
    // git may close its stdin before it has read everything; its exit code tells why.
    child.stdin.on("error", () => undefined);
    child.stdin.end(options.stdin);
  });
}

/** The host's `PATH` without relative entries: they would run a file of the working directory as git. */
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
