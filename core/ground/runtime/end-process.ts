import process from "node:process";
import { endThreads } from "./live-threads.ts";

/** Timeout for threads. Milliseconds. */
const threadsMs = 1000;

/**
 * Ends this process even when its threads are stuck. A thread inside a built-in function that never checks for
 * termination (`sort` or `indexOf` over 2^53 places) cannot be terminated, and `process.exit()` would wait for it
 * forever: then only SIGKILL to this process helps, and its exit code is lost.
 */
export async function endProcess(code: number): Promise<void> {
  process.exitCode = code;
  if (!(await endThreads(threadsMs))) killSelf();
  process.exit(code);
}

/** Kills this process at once, without waiting for threads. */
export function killSelf(): void {
  process.kill(process.pid, "SIGKILL");
}
