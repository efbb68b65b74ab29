import { readdir, readFile, readlink } from "node:fs/promises";
import { basename } from "node:path";

/** What a tree of processes holds in memory, in megabytes; `pss` counts a shared page once. */
export interface TreeMemory {
  rss: number;
  pss: number;
  processes: number;
}

interface ProcessRow {
  pid: number;
  parent: number;
  cpuMs: number;
}

/** The kernel counts processor time in hundredths of a second. */
const tickMs = 10;

/** Processor time of a process and of all that it started, those that have ended included, in milliseconds. */
export async function treeCpuMs(root: number): Promise<number> {
  return (await treeOf(root)).reduce((sum, { cpuMs }) => sum + cpuMs, 0);
}

/** Memory of a process and of all below it, without the stub agents: those are the same for everybody. */
export async function treeMemory(root: number): Promise<TreeMemory> {
  const memory = { rss: 0, pss: 0, processes: 0 };
  for (const { pid } of await treeOf(root)) {
    if (await isAgent(pid)) continue;
    const rollup = await readFile(`/proc/${pid}/smaps_rollup`, "latin1").catch(() => "");
    const mb = (key: string) => Number(new RegExp(`^${key}:\\s+(\\d+) kB`, "m").exec(rollup)?.[1] ?? 0) / 1024;
    memory.rss += mb("Rss");
    memory.pss += mb("Pss");
    memory.processes += rollup === "" ? 0 : 1;
  }
  return memory;
}

/** A contained agent is found by its program: around it stand processes that belong to its container. */
async function isAgent(pid: number): Promise<boolean> {
  if (basename(await readlink(`/proc/${pid}/exe`).catch(() => "")) === "stub-agent") return true;
  const [program = "", script = ""] = (await readFile(`/proc/${pid}/cmdline`, "latin1").catch(() => "")).split("\0");
  return /node|deno/.test(basename(program)) && basename(script) === "stub-agent.mjs";
}

async function treeOf(root: number): Promise<ProcessRow[]> {
  const pids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name)).map(Number);
  const rows = new Map((await Promise.all(pids.map(rowOf))).filter((row) => row !== null).map((row) => [row.pid, row]));
  return [...rows.values()].filter((row) => isBelow(row.pid, root, rows));
}

async function rowOf(pid: number): Promise<ProcessRow | null> {
  const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => null);
  if (stat === null) return null;
  // The name before the parenthesis may hold spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const cpu = fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0);
  return { pid, parent: Number(fields[1]), cpuMs: cpu * tickMs };
}

function isBelow(pid: number, root: number, rows: ReadonlyMap<number, ProcessRow>): boolean {
  for (let at: number | undefined = pid; at !== undefined && at > 1; at = rows.get(at)?.parent) {
    if (at === root) return true;
  }
  return false;
}
