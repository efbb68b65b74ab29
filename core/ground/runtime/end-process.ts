import process from "node:process";
import { endThreads } from "./live-threads.ts";

/** How long threads are waited for. Milliseconds. */
const threadsMs = 1000;

/**
 * Ends this process, whatever its threads do. A thread that is busy in a built-in function which never looks up (`sort`
 * or `indexOf` over 2^53 places) cannot be terminated, and `process.exit()` would wait for it for ever: then SIGKILL
 * to this very process is all that is left, and its exit code is lost.
 */
export async function endProcess(code: number): Promise<void> {
  process.exitCode = code;
  if (!(await endThreads(threadsMs))) killSelf();
  process.exit(code);
}

/** Ends this process at once: nothing runs any more, and no thread is waited for. */
export function killSelf(): void {
  process.kill(process.pid, "SIGKILL");
}
