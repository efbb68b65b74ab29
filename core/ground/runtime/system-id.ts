import { readFileSync, readlinkSync } from "node:fs";

/**
 * Where process ids have their meaning: this boot of the kernel and this PID namespace. A pid and its start time that
 * were written down name the same process only under the same id. Null where it cannot be told.
 */
export function systemId(): string | null {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
    return `${boot} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return null;
  }
}
