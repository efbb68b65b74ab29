import { startBackgroundTimer } from "./background-timer.ts";
import { countProcesses, listMarked, type MarkRow } from "./process-rows.ts";
import type { TreeRoot } from "./process-tree.ts";

/** Programs whose processes are counted, with all their descendants. */
interface ProcessWatch {
  /** Those that run now. */
  roots(): readonly TreeRoot[];
  /** Mark in the environment of all of them; see `process-mark.ts`. */
  mark: string;
  /** How many processes there may be. */
  most: number;
  /** Told of more. */
  onOver(count: number): void;
}

const lookEveryMs = 500;
const watches = new Set<ProcessWatch>();
let cancelLook: (() => void) | null = null;
let looking = false;

/**
 * Counts processes twice a second, in one look at the system for all that is watched, and nothing while nothing is.
 * Where the system does not show its processes as files, nothing is counted.
 * @returns ends it
 */
export function watchProcesses(watch: ProcessWatch): () => void {
  watches.add(watch);
  schedule();
  return () => {
    watches.delete(watch);
    if (watches.size > 0) return;
    cancelLook?.();
    cancelLook = null;
  };
}

function schedule(): void {
  if (looking || watches.size === 0) return;
  cancelLook ??= startBackgroundTimer(() => void look().catch(() => {}), lookEveryMs);
}

/** One that fails is made again with the next. */
async function look(): Promise<void> {
  cancelLook = null;
  looking = true;
  try {
    const roots = [...watches].flatMap((watch) => watch.roots());
    // No tree has more processes than the system.
    const all = countProcesses();
    if (all !== null && all <= Math.min(...[...watches].map(({ most }) => most))) return;
    const rows = await listMarked({ since: earliest(roots) });
    if (rows === null) return;
    for (const watch of [...watches]) {
      const count = countOf(watch, rows);
      if (count > watch.most && watches.has(watch)) watch.onOver(count);
    }
  } finally {
    looking = false;
    schedule();
  }
}

/** No descendant is older than what it descends from, and reading what an older process is costs something. */
function earliest(roots: readonly TreeRoot[]): number {
  return Math.min(...roots.map(({ startTime }) => Number(startTime ?? 0)));
}

function countOf({ roots, mark }: ProcessWatch, rows: readonly MarkRow[]): number {
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
  return members.size;
}

function belongs(row: MarkRow, { leaders, mark }: { leaders: ReadonlySet<number>; mark: string }): boolean {
  return leaders.has(row.pid) || leaders.has(row.ppid) || leaders.has(row.pgid) || leaders.has(row.sid) ||
    row.mark === mark || row.mark?.startsWith(`${mark}.`) === true;
}
