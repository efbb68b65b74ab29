import process from "node:process";
import { sleep } from "../engine/wait.ts";
import { descendantsOf, type FirstProcess } from "./process-space.ts";
import { listProcesses, type MarkedRow, type ProcessRow, readRow } from "./process-rows.ts";

/** The first process of a tree. */
export interface TreeRoot {
  pid: number;
  /** Value of `ChildProcess.startTime`. A process of this pid that started at another time is not touched. */
  startTime?: string | null;
  /** True for a program that only contains the tree, which dies with it: it gets no SIGTERM. */
  container?: boolean;
  /** First process of the namespace in which a container keeps the tree; null or absent: it is not known. */
  first?: FirstProcess | null;
}

/** A container that keeps its tree in a namespace of its own. */
type OwnSpace = TreeRoot & { startTime: string; first: FirstProcess };

interface KillTreesOptions {
  roots: readonly TreeRoot[];
  /** Mark in the environment of the trees; see `process-mark.ts`. */
  mark: string;
  /** From SIGTERM to SIGKILL; 0: SIGKILL at once. */
  graceMs: number;
  /** True where the roots are all that were ever started with the mark: then nothing older than them is looked into. */
  allRoots?: boolean;
}

const procIsReadable = readRow(process.pid) !== null;
const pollMs = 10;
const rescanMs = 200;
/** Timeout after SIGKILL: a process that survives it hangs in the kernel, and waiting longer would block a shutdown. */
const giveUpMs = 5000;

/**
 * Ends programs of one mark, in one sweep, with everything they started: SIGTERM to their groups and to every
 * descendant, SIGKILL to the rest after the grace. Resolves as soon as all are gone. Never throws.
 *
 * Finds descendants by parent, by process group and session, and by mark: agents give their tools their own groups, and
 * a parent's death hands its children to process 1. Where each tree has a namespace of its own, nothing can have left it,
 * and the system's other processes are not looked at.
 */
export async function killTrees(options: KillTreesOptions): Promise<void> {
  const spaces = options.roots.filter(hasOwnSpace);
  if (options.allRoots === true && spaces.length === options.roots.length) return await endSpaces(spaces, options);
  const tree = new Tree(options);
  const killAt = Date.now() + options.graceMs;
  const giveUpAt = killAt + giveUpMs;
  let live = await tree.scan();
  let scannedAt = Date.now();
  if (options.graceMs > 0) terminate(live, { roots: options.roots, before: [] });
  while (live.length > 0 && Date.now() < killAt) {
    await sleep(Math.min(pollMs, Math.max(1, killAt - Date.now())));
    const seen = live;
    live = live.filter(isAlive);
    if (live.length > 0 && Date.now() - scannedAt < rescanMs) continue;
    live = await tree.scan();
    scannedAt = Date.now();
    terminate(live, { roots: [], before: seen });
  }
  while (live.length > 0 && Date.now() < giveUpAt) {
    // Signal whole groups at once: a fork bomb would outrun signals sent to one process at a time.
    for (const group of groupsOf(options.roots, live)) send(-group, "SIGKILL");
    for (const row of live) signal(row, "SIGKILL");
    await sleep(pollMs);
    live = await tree.scan();
  }
}

function hasOwnSpace(root: TreeRoot): root is OwnSpace {
  return typeof root.startTime === "string" && root.first !== null && root.first !== undefined;
}

/** Ends whole namespaces: SIGTERM to all in them but the first process, and SIGKILL to that one after the grace. */
async function endSpaces(spaces: readonly OwnSpace[], { graceMs }: Pick<KillTreesOptions, "graceMs">): Promise<void> {
  const killAt = Date.now() + graceMs;
  const asked = new Set<number>();
  let askAt = 0;
  let pauseMs = 1;
  for (;;) {
    const live = spaces.filter((space) => isThere(space.first) || isThere({ pid: space.pid, start: space.startTime }));
    const now = Date.now();
    if (live.length === 0 || now >= killAt + giveUpMs) return;
    if (now >= killAt) live.forEach(killSpace);
    else if (now >= askAt) {
      askAt = now + rescanMs;
      for (const pid of live.flatMap(({ first }) => isThere(first) ? descendantsOf(first.pid) : [])) {
        if (!asked.has(pid)) send(pid, "SIGTERM");
        asked.add(pid);
      }
    }
    await sleep(pauseMs);
    pauseMs = Math.min(pauseMs * 2, pollMs);
  }
}

function killSpace({ pid, startTime, first }: OwnSpace): void {
  if (isThere(first)) send(first.pid, "SIGKILL");
  if (isThere({ pid, start: startTime })) send(pid, "SIGKILL");
}

function isThere({ pid, start }: FirstProcess): boolean {
  const now = readRow(pid);
  return now !== null && !now.zombie && now.start === start;
}

/** Remembers the members of the tree, so that a process stays known when its parent is gone. */
class Tree {
  #roots: readonly TreeRoot[];
  #mark: string;
  /** Start of the oldest process whose mark matters: no descendant is older than its root. */
  #since: number;
  #known = new Map<number, string>();

  constructor({ roots, mark, allRoots = false }: KillTreesOptions) {
    this.#roots = roots;
    this.#mark = mark;
    const starts = roots.map(({ startTime }) => Number(startTime ?? 0));
    this.#since = !allRoots || starts.length === 0 || starts.some(Number.isNaN) ? 0 : Math.min(...starts);
  }

  /** All living processes of the tree. */
  async scan(): Promise<ProcessRow[]> {
    const all = await listProcesses(this.#mark, { since: this.#since });
    if (all === null) return this.#roots.flatMap(wholeGroup);
    const rows = all.filter((row) => !row.zombie);
    const spared = ownLine(rows);
    const byPid = new Map(rows.map((row) => [row.pid, row]));
    const roots = this.#roots.filter((root) => !spared.has(root.pid) && isSame(root, byPid.get(root.pid)));
    const leaders = new Set(roots.map(({ pid }) => pid));
    for (const pid of this.#known.keys()) {
      if (!byPid.has(pid)) leaders.add(pid);
    }
    const members = new Map<number, ProcessRow>();
    for (let before = -1; before !== members.size;) {
      before = members.size;
      for (const row of rows) {
        if (members.has(row.pid) || spared.has(row.pid)) continue;
        if (!this.#belongs(row, leaders)) continue;
        members.set(row.pid, row);
        leaders.add(row.pid);
      }
    }
    for (const row of members.values()) this.#known.set(row.pid, row.start);
    return [...members.values()];
  }

  #belongs(row: MarkedRow, leaders: ReadonlySet<number>): boolean {
    return leaders.has(row.pid) || leaders.has(row.ppid) || leaders.has(row.pgid) || leaders.has(row.sid) ||
      this.#known.get(row.pid) === row.start || row.marked;
  }
}

/**
 * This process, its ancestors, and process 1: never signalled and never taken for the root of a tree, even on request.
 * Every process that lost its parent is a child of process 1.
 */
function ownLine(rows: readonly ProcessRow[]): Set<number> {
  const parents = new Map(rows.map((row) => [row.pid, row.ppid]));
  const line = new Set([0, 1]);
  for (let pid: number | undefined = process.pid; pid !== undefined && !line.has(pid); pid = parents.get(pid)) {
    line.add(pid);
  }
  return line;
}

/** Fallback without a process list: a root's group as one row, by the negative number that `kill` accepts for it. */
function wholeGroup({ pid }: TreeRoot): ProcessRow[] {
  if (pid <= 1 || pid === process.pid || !canSignal(-pid)) return [];
  return [{ pid: -pid, ppid: 0, pgid: pid, sid: pid, start: "", zombie: false }];
}

/** False when the pid was reused. A root that is gone may still have a group. */
function isSame(root: TreeRoot, row: ProcessRow | undefined): boolean {
  return row === undefined || root.startTime === undefined || root.startTime === null || row.start === root.startTime;
}

/**
 * Sends SIGTERM once to each: to whole groups where the root leads one, because a launcher may ignore a signal sent to
 * it alone, and some programs take a second SIGTERM for "at once".
 */
function terminate(
  rows: readonly ProcessRow[],
  { roots, before }: { roots: readonly TreeRoot[]; before: readonly ProcessRow[] },
): void {
  const groups = groupsOf(roots.filter(({ container }) => container !== true), rows);
  for (const group of groups) send(-group, "SIGTERM");
  const done = new Set(before.map((row) => row.pid));
  for (const { pid, container } of roots) {
    if (container) done.add(pid);
  }
  for (const row of rows) {
    if (!groups.has(row.pgid) && !done.has(row.pid)) signal(row, "SIGTERM");
  }
}

/** Groups that roots lead and that have living members, whether or not the root itself lives. */
function groupsOf(roots: readonly TreeRoot[], rows: readonly ProcessRow[]): Set<number> {
  return new Set(roots.map(({ pid }) => pid).filter((pid) => rows.some((row) => row.pgid === pid)));
}

/** Checks again right before the signal, to leave a reused pid alone. */
function signal(row: ProcessRow, name: "SIGTERM" | "SIGKILL"): void {
  if (isAlive(row)) send(row.pid, name);
}

function isAlive(row: ProcessRow): boolean {
  if (!procIsReadable) return canSignal(row.pid);
  const now = readRow(row.pid);
  return now !== null && !now.zombie && now.start === row.start;
}

function canSignal(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function send(pid: number, name: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(pid, name);
  } catch {
    // It is gone already, or belongs to another user: ignore the failure.
  }
}
