import { Socket } from "node:net";
import process from "node:process";
import { killSelf } from "./end-process.ts";
import { runtimeName } from "./platform.ts";

/** The pipe a warden has to its host, as file descriptor 3: standard output stays free for what native code prints. */
export interface HostPipe {
  write(bytes: Uint8Array): void;
  onBytes(take: (bytes: Uint8Array) => void): void;
  /** The host is gone or has let go of us. */
  onClose(take: () => void): void;
}

/** Opens the pipe to the host; call it once, in a warden. */
export function openHostPipe(): HostPipe {
  const socket = new Socket({ fd: 3, readable: true, writable: true });
  socket.on("error", () => {});
  return {
    write: (bytes) => void socket.write(bytes),
    onBytes: (take) => void socket.on("data", take),
    onClose: (take) => void socket.on("close", take),
  };
}

/** Memory and processor time of this process and all its threads. */
export function ownUsage(): { rss_bytes: number; cpu_ms: number } {
  const { user, system } = process.cpuUsage();
  return { rss_bytes: process.memoryUsage.rss(), cpu_ms: Math.round((user + system) / 1000) };
}

/** Ends this warden at once: an exit in order would wait for a thread that is stuck, for ever when the host is gone. */
export function endWarden(): void {
  // On Deno a signal is a permission that a warden does not have, and an exit waits for no thread.
  if (runtimeName === "node") killSelf();
  process.exit(0);
}
