import { readFileSync, readlinkSync } from "node:fs";
import { sha256Hex } from "../files/hash.ts";
import { processStart } from "./process-rows.ts";

/** Identifies the scope of process ids: this boot and PID namespace. Null where the system does not show it. */
export function systemId(): string | null {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
    return `${boot} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return null;
  }
}

let system: string | null | undefined;

/**
 * Returns an identity that no other process with the same pid has or will have, on this machine, in a container of it, and
 * after a restart of either. Null where the system does not say enough.
 * @param start as `processStart()` gives it
 */
export function processIdentity(pid: number, start: string | null): string | null {
  // Neither the boot nor the namespace of a process changes while it runs.
  system = system === undefined ? systemId() : system;
  return system === null || start === null ? null : sha256Hex(`${system}\n${pid}\n${start}`).slice(0, 32);
}

/** Start of the process that has this pid now, where it is the one of that identity; else null. */
export function startOfIdentity(pid: number, identity: string): string | null {
  const start = processStart(pid);
  return processIdentity(pid, start) === identity ? start : null;
}
