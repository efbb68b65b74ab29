import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";

/** A process that outlives this one. */
interface DetachedProcess {
  readonly pid: number;
  /** Its exit code, or null when a signal ended it; settles only while this process runs. */
  readonly exited: Promise<number | null>;
}

/** Options of {@link startDetached}. */
interface StartDetachedOptions {
  cwd: string;
  /** Replaced with its output; readable by this user alone. */
  outputFile: string;
}

/**
 * Starts a program in its own session, with this process's environment and without any of its streams.
 * @throws {Error} of the system when it cannot be started
 */
export async function startDetached(
  [program = "", ...args]: readonly string[],
  { cwd, outputFile }: StartDetachedOptions,
): Promise<DetachedProcess> {
  const output = openSync(outputFile, "w", 0o600);
  try {
    const child = spawn(program, args, { cwd, detached: true, stdio: ["ignore", output, output] });
    const exited = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)));
    await new Promise<void>((resolve, reject) => child.once("spawn", resolve).once("error", reject));
    child.unref();
    return { pid: child.pid ?? 0, exited };
  } finally {
    closeSync(output);
  }
}
