import { Socket } from "node:net";
import process from "node:process";
import { dropNetwork } from "../net/drop-network.ts";
import { killSelf } from "./end-process.ts";
import { runtimeName } from "../engine/platform.ts";

/** A warden's pipe to its host, as file descriptor 3: standard output stays free for the output of native code. */
export interface HostPipe {
  write(bytes: Uint8Array): void;
  onBytes(take: (bytes: Uint8Array) => void): void;
  /** Called when the host is gone or has closed the pipe. */
  onClose(take: () => void): void;
}

/** Opens the pipe to the host; call it once, in a warden. */
export function openHostPipe(): HostPipe {
  const socket = new Socket({ fd: 3, readable: true, writable: true });
  dropNetwork();
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

/** Ends this warden at once: an orderly exit would wait for a stuck thread, forever when the host is gone. */
export function endWarden(): void {
  // On Deno a warden lacks the permission to signal, and an exit does not wait for threads.
  if (runtimeName === "node") killSelf();
  process.exit(0);
}
