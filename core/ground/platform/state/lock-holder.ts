import { hostname } from "node:os";
import { pid } from "node:process";
import { processIsAlive } from "../processes/process-alive.ts";
import { processStart } from "../processes/process-rows.ts";
import { systemId } from "../processes/system-id.ts";

/** A process. Its pid may be reused; together with its start it stays unique in its system. */
interface ProcessName {
  pid: number;
  /** Result of `processStart()`; null where it cannot be read. */
  start: string | null;
}

/** The process that holds a lock, as it has written itself down. */
export interface LockHolder extends ProcessName {
  /** System in which its pid is valid, see `systemId()`; null where it cannot be told. Absent: an older version wrote it. */
  system?: string | null;
  /** Name of its machine or container; null where it may not be asked for. */
  host?: string | null;
  /** The command or program that it runs, for people; null where it has no name. */
  program?: string | null;
  /** Identity of the file that the operating system locks: a copy of the folder has another one. */
  file?: string;
}

/** Place where a holder runs, as seen from this process. */
type HolderPlace = "here" | "container" | "machine";

/** Describes this process. */
export function thisHolder({ program, file }: { program: string | null; file: string }): LockHolder {
  return { pid, start: processStart(pid), system: systemId(), host: ownName(), program, file };
}

/** Reads what a process has written of itself; null for anything else. */
export function parseHolder(text: string): LockHolder | null {
  try {
    const value = JSON.parse(text) as Record<string, unknown> | null;
    if (typeof value !== "object" || value === null || typeof value["pid"] !== "number") return null;
    const words = ["system", "host", "program", "file"].filter((name) => name in value)
      .map((name) => [name, wordOf(value[name])]);
    return { pid: value["pid"], start: wordOf(value["start"]), ...Object.fromEntries(words) };
  } catch {
    return null;
  }
}

/** True while this very process runs. Where this process may not look at others, the pid must suffice. */
export function isAlive({ pid, start }: ProcessName): boolean {
  if (!processIsAlive(pid)) return false;
  const now = start === null ? null : processStart(pid);
  return now === null || now === start;
}

/** Whether a holder of this system still runs, from the list of processes alone; null where that cannot tell. */
export function livesHere(holder: LockHolder): boolean | null {
  if (holder.system === undefined) return isAlive(holder);
  if (holder.system === null || holder.system !== systemId()) return null;
  if (!processIsAlive(holder.pid)) return false;
  const now = processStart(holder.pid);
  return now === null || holder.start === null ? null : now === holder.start;
}

/** Returns where a holder runs: in this PID namespace, in another one of this machine, or on a machine that booted another time. */
export function placeOf({ system, host }: LockHolder): HolderPlace {
  const own = systemId();
  if (system === undefined) return "here";
  if (system === null || own === null) return host === ownName() ? "here" : "machine";
  if (system === own) return "here";
  return bootOf(system) === bootOf(own) ? "container" : "machine";
}

/** Names a holder in a sentence. */
export function holderText(holder: LockHolder | null): string {
  if (holder === null) return "another process";
  const { pid, program, host } = holder;
  const place = placeOf(holder);
  const process = program ? `"${program}" (process ${pid})` : `process ${pid}`;
  if (place === "here") return process;
  const name = host ? ` ("${host}")` : "";
  return `${process} ${place === "container" ? "in another container" : "on another machine"}${name}`;
}

function bootOf(system: string): string | undefined {
  return system.split(" ")[0];
}

function ownName(): string | null {
  try {
    return hostname();
  } catch {
    return null;
  }
}

function wordOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
