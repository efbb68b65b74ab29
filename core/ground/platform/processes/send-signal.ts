import process from "node:process";

/** Sends a signal to a process; false when it is gone or belongs to another user. */
export function sendSignal(pid: number, signal: "SIGTERM" | "SIGHUP" | "SIGKILL"): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
}
