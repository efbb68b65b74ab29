import process from "node:process";
import { isatty } from "node:tty";
import { endThreads } from "../engine/live-threads.ts";
import { runtimeVersion } from "../engine/platform.ts";

/** Timeout for threads. Milliseconds. */
const threadsMs = 1000;

/**
 * Ends this process even when its threads are stuck. A thread inside a built-in function that never checks for
 * termination (`sort` or `indexOf` over 2^53 places) cannot be terminated, and `process.exit()` would wait for it
 * forever: then only SIGKILL to this process helps, and its exit code is lost. The same holds for a terminal that was
 * closed: Node 20 restores its settings at the exit, and aborts with a core dump since it cannot.
 */
export async function endProcess(code: number): Promise<void> {
  process.exitCode = code;
  if (!(await endThreads(threadsMs)) || (runtimeVersion.startsWith("node 20.") && terminalIsGone())) killSelf();
  process.exit(code);
}

/** Whether one of the standard streams led to a terminal that was closed. */
function terminalIsGone(): boolean {
  return [process.stdin, process.stdout, process.stderr].some(({ isTTY, fd }) => isTTY && !isatty(fd));
}

/** Kills this process at once, without waiting for threads. */
export function killSelf(): void {
  process.kill(process.pid, "SIGKILL");
}
