import { readFileSync, readlinkSync } from "node:fs";

/**
 * Identifies the scope of process ids: this boot of the kernel and this PID namespace. A recorded pid and start time name
 * the same process only under the same id. Null where the system does not show it.
 */
export function systemId(): string | null {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
    return `${boot} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return null;
  }
}
