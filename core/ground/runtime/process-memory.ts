import { readFile } from "node:fs/promises";
import { nextTurn } from "./next-turn.ts";

/** Memory of the machine, in bytes; null where the system does not tell it as a file (proc_meminfo(5)). */
export async function machineMemory(): Promise<{ total: number; used: number } | null> {
  const text = await read("/proc/meminfo");
  const [total, available] = [kilobytes(text, "MemTotal"), kilobytes(text, "MemAvailable")];
  return total === 0 || available === 0 ? null : { total, used: total - available };
}

/**
 * Memory that processes have, in bytes. What several of them share counts for each, unless that is more than `unless`: then
 * each has its part of it, which takes longer to tell.
 */
export async function residentBytes(pids: readonly number[], { unless }: { unless: number }): Promise<number> {
  let sum = 0;
  for (const [index, pid] of pids.entries()) {
    sum += kilobytes(await read(`/proc/${pid}/status`), "VmRSS");
    if (index % 64 === 63) await nextTurn();
  }
  if (sum <= unless) return sum;
  // One after the other: a large process takes the kernel a while.
  let shares = 0;
  for (const pid of pids) {
    const text = await read(`/proc/${pid}/smaps_rollup`);
    shares += text === "" ? kilobytes(await read(`/proc/${pid}/status`), "VmRSS") : kilobytes(text, "Pss");
  }
  return shares;
}

/** Bytes that processes and those of their children that are gone have written, to files and to others. */
export async function writtenBytes(pids: readonly number[]): Promise<number> {
  const counts = await Promise.all(pids.map(async (pid) => {
    const text = await read(`/proc/${pid}/io`);
    return Math.max(count(text, "wchar"), count(text, "write_bytes"));
  }));
  return counts.reduce((sum, one) => sum + one, 0);
}

function kilobytes(text: string, name: string): number {
  return count(text, name) * 1024;
}

function count(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s*(\\d+)`, "m").exec(text)?.[1] ?? 0);
}

async function read(file: string): Promise<string> {
  return await readFile(file, "utf8").catch(() => "");
}
