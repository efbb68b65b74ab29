import { lookOften } from "../engine/background-timer.ts";
import { heldBytes, type MachineMemory, machineMemory } from "./process-memory.ts";
import { countProcesses, listMarked, type MarkRow } from "./process-rows.ts";
import type { TreeRoot } from "./process-tree.ts";

/** Programs with all their descendants. */
export interface ProcessFamily {
  /** Those that run now. */
  roots(): readonly TreeRoot[];
  /** Mark in the environment of all of them; see `process-mark.ts`. */
  mark: string;
}

/** Programs whose processes and memory are counted. */
interface ProcessWatch extends ProcessFamily {
  /** How many processes there may be. */
  most: number;
  /** How much memory they may have, in bytes; at most four fifths of the machine's. */
  mostBytes: number;
  /** Called for more. */
  onOver(over: { bound: "processes" | "memory"; used: number; most: number }): void;
  /** Called at each look, for what else must be looked at meanwhile. */
  onLook?(): void;
}

/** The memory that others give back hides growth: it is counted this often in any case, in looks. */
const memoryEvery = 10;
const watches = new Set<ProcessWatch>();
const looks = lookOften(watches, look);
let looked = 0;
/** The least memory of the machine that was in use since anything is watched, and the least of its files in memory. */
let least = { used: Infinity, shared: Infinity };

/**
 * Counts processes and their memory twice a second, with one scan for all watched groups; idle when there are none.
 * Counts nothing where the system does not show its processes as files.
 * @returns ends it
 */
export function watchProcesses(watch: ProcessWatch): () => void {
  watches.add(watch);
  looks.start();
  return () => {
    watches.delete(watch);
    if (watches.size > 0) return;
    looks.stop();
    least = { used: Infinity, shared: Infinity };
  };
}

/** The living processes of a family; null where the system does not list them as files. */
export async function processesOf(family: ProcessFamily): Promise<number[] | null> {
  const rows = await listMarked({ since: earliest(family.roots()) });
  return rows === null ? null : [...membersOf(family, rows)];
}

/** Returns the memory of a family in bytes, of shared pages their part; null as {@link processesOf}. */
export async function memoryOf(family: ProcessFamily): Promise<number | null> {
  const pids = await processesOf(family);
  return pids === null ? null : await heldBytes(pids, { unless: 0, withFiles: true });
}

async function look(): Promise<void> {
  for (const watch of watches) watch.onLook?.();
  const roots = [...watches].flatMap((watch) => watch.roots());
  // No tree has more processes than the system.
  const all = countProcesses();
  const memory = await machineMemory();
  const isDue = ++looked % memoryEvery === 0;
  const mayBeLarge = memory !== null && (memoryMayBeOver(memory) || isDue);
  if (!mayBeLarge && all !== null && all <= Math.min(...[...watches].map(({ most }) => most))) return;
  const rows = await listMarked({ since: earliest(roots) });
  if (rows === null) return;
  for (const watch of [...watches]) {
    const members = membersOf(watch, rows);
    const { most } = watch;
    if (members.size > most && watches.has(watch)) watch.onOver({ bound: "processes", used: members.size, most });
    if (mayBeLarge) await holdMemory(watch, { members, memory, isDue });
  }
}

/** A tree cannot have grown by more than the memory that is in use. */
function memoryMayBeOver({ used, shared }: MachineMemory): boolean {
  least = { used: Math.min(least.used, used), shared: Math.min(least.shared, shared) };
  return used - least.used >= Math.min(...[...watches].map(({ mostBytes }) => mostBytes)) / 4;
}

async function holdMemory(
  watch: ProcessWatch,
  { members, memory, isDue }: { members: ReadonlySet<number>; memory: MachineMemory; isDue: boolean },
): Promise<void> {
  const most = Math.min(watch.mostBytes, memory.total * 0.8);
  const withFiles = isDue || memory.shared - least.shared >= most / 4;
  const used = await heldBytes([...members], { unless: most, withFiles });
  if (used > most && watches.has(watch)) watch.onOver({ bound: "memory", used, most });
}

/** No descendant is older than what it descends from, and reading what an older process is costs something. */
function earliest(roots: readonly TreeRoot[]): number {
  return Math.min(...roots.map(({ startTime }) => Number(startTime ?? 0)));
}

function membersOf({ roots, mark }: ProcessFamily, rows: readonly MarkRow[]): Set<number> {
  const leaders = new Set<number>();
  for (const { pid, startTime } of roots()) {
    const row = rows.find((one) => one.pid === pid);
    if (row === undefined || startTime === undefined || startTime === null || row.start === startTime) leaders.add(pid);
  }
  const members = new Set<number>();
  for (let before = -1; before !== members.size;) {
    before = members.size;
    for (const row of rows) {
      if (members.has(row.pid) || !belongs(row, { leaders, mark })) continue;
      members.add(row.pid);
      leaders.add(row.pid);
    }
  }
  return members;
}

function belongs(row: MarkRow, { leaders, mark }: { leaders: ReadonlySet<number>; mark: string }): boolean {
  return leaders.has(row.pid) || leaders.has(row.ppid) || leaders.has(row.pgid) || leaders.has(row.sid) ||
    row.mark === mark || row.mark?.startsWith(`${mark}.`) === true;
}
