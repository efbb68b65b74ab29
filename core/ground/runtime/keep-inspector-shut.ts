import process from "node:process";
import { runtimeName } from "./platform.ts";

/**
 * Keeps SIGUSR1 from opening this process to a debugger. Node answers that signal, which any process of the same user may
 * send, by listening for a debugger that may run anything here. It stays shut for the life of the process: with the last
 * listener gone the signal would end it.
 */
export function keepInspectorShut(): void {
  if (runtimeName !== "node" || process.platform === "win32" || process.listenerCount("SIGUSR1") > 0) return;
  process.on("SIGUSR1", () => {});
}
