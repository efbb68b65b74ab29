import { readdir, readFile, readlink, stat } from "node:fs/promises";

/** Memory of the machine, in bytes. */
export interface MachineMemory {
  total: number;
  used: number;
  /** Part of `used` that is files in memory, which need not be mapped by any process. */
  shared: number;
}

/** Looks at the memory of the machine; null where the system does not tell it as a file (proc_meminfo(5)). */
export async function machineMemory(): Promise<MachineMemory | null> {
  const text = await read("/proc/meminfo");
  const [total, available] = [kilobytes(text, "MemTotal"), kilobytes(text, "MemAvailable")];
  return total === 0 || available === 0 ? null : {
    total,
    used: total - available,
    shared: kilobytes(text, "Shmem"),
  };
}

interface HeldBytesOptions {
  /** A sum up to which it need not be exact. */
  unless: number;
  /** Whether files in memory that no process maps are looked for too. */
  withFiles: boolean;
}

/** Memory of a process: its own, and what it maps of files in memory. */
type Part = [own: number, shared: number];

/**
 * Memory that processes have, in bytes. What several of them share counts for each, unless that is more than `unless`: then
 * each has its part of it, which takes longer to tell.
 */
export async function heldBytes(pids: readonly number[], { unless, withFiles }: HeldBytesOptions): Promise<number> {
  const files = withFiles ? await filesInMemory(pids) : 0;
  const sumOf = async (partOf: (pid: number) => Promise<Part>) => {
    let [own, shared] = [0, 0];
    // One after the other: a large process takes the kernel a while.
    for (const pid of pids) {
      const part = await partOf(pid);
      own += part[0];
      shared += part[1];
    }
    return own + Math.max(shared, files);
  };
  const sum = await sumOf(residentPart);
  return sum <= unless ? sum : await sumOf(async (pid) => await ownPart(pid) ?? await residentPart(pid));
}

async function residentPart(pid: number): Promise<Part> {
  const text = await read(`/proc/${pid}/status`);
  const shared = kilobytes(text, "RssShmem");
  return [kilobytes(text, "VmRSS") - shared, shared];
}

async function ownPart(pid: number): Promise<Part | null> {
  const text = await read(`/proc/${pid}/smaps_rollup`);
  if (text === "") return null;
  const shared = kilobytes(text, "Pss_Shmem");
  return [kilobytes(text, "Pss") - shared, shared];
}

/** Bytes of the open files of processes that have no name on any disk (memfd_create(2)). */
async function filesInMemory(pids: readonly number[]): Promise<number> {
  const sizes = new Map<number, number>();
  for (const pid of pids) {
    const folder = `/proc/${pid}/fd`;
    const names = await readdir(folder).catch(() => []);
    await Promise.all(names.map(async (name) => {
      const target = await readlink(`${folder}/${name}`).catch(() => "");
      if (!target.startsWith("/memfd:")) return;
      const info = await stat(`${folder}/${name}`).catch(() => null);
      if (info !== null) sizes.set(info.ino, info.blocks * 512);
    }));
  }
  return [...sizes.values()].reduce((sum, size) => sum + size, 0);
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
