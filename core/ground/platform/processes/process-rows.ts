import { execFile } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import process from "node:process";
import { nextTurn } from "../engine/next-turn.ts";
import { isInside } from "../files/paths.ts";
import { holdsMark, isCovered, markOf, marksOf } from "./process-mark.ts";

/** One process of the system. */
export interface ProcessRow {
  pid: number;
  ppid: number;
  pgid: number;
  /** Session id; 0 where it is unknown. */
  sid: number;
  /** Start time, only for comparison: with the pid it identifies one process, even after the pid is reused. */
  start: string;
  /** Dead, but not yet collected by its parent. */
  zombie: boolean;
}

/** A process, and whether it was started with the given mark. */
export interface MarkedRow extends ProcessRow {
  marked: boolean;
}

/**
 * All visible processes; null when neither `/proc` may be read (Deno wants all permissions for it) nor `ps` can be run.
 * Everybody who asks before a look begins gets the same one: a hundred sessions that end together need two or three.
 * @param since start of the oldest process whose mark matters, as in {@link ProcessRow}
 */
export async function listProcesses(mark: string, { since = 0 }: { since?: number } = {}): Promise<MarkedRow[] | null> {
  const rows = await lookTogether(since);
  if (rows === null) return parsePs(await runPs(), mark);
  return rows.map(({ marks, ...row }) => ({ ...row, marked: marks.some((one) => isCovered(one, mark)) }));
}

interface MarksRow extends ProcessRow {
  marks: readonly string[];
}

interface Look {
  since: number;
  rows: Promise<MarksRow[] | null>;
}

let looking: Promise<unknown> | null = null;
let nextLook: Look | null = null;

/** Joins the look that begins next: one that is under way may have passed a process that was started since. */
function lookTogether(since: number): Promise<MarksRow[] | null> {
  if (nextLook !== null) {
    nextLook.since = Math.min(nextLook.since, since);
    return nextLook.rows;
  }
  const look: Look = { since, rows: Promise.resolve(null) };
  const begin = (): Promise<MarksRow[] | null> => {
    if (nextLook === look) nextLook = null;
    const rows = readAll(look.since);
    looking = rows;
    void rows.catch(() => {}).then(() => {
      if (looking === rows) looking = null;
    });
    return rows;
  };
  if (looking === null) return begin();
  nextLook = look;
  look.rows = looking.then(begin, begin);
  return look.rows;
}

/** Reads in slices, so that a long list does not hold up the event loop. */
async function readAll(since: number): Promise<MarksRow[] | null> {
  const pids = listProc();
  if (pids === null) return null;
  const rows: MarksRow[] = [];
  for (const [index, pid] of pids.entries()) {
    const row = readRow(pid);
    if (row !== null) rows.push({ ...row, marks: Number(row.start) >= since ? marksOf(pid) : [] });
    if (index % 64 === 63) await nextTurn();
  }
  return rows;
}

/** A process with the mark it was started with. */
export interface MarkRow extends ProcessRow {
  mark: string | null;
}

/**
 * All living processes, with the marks of the ones that started at `since` or later; null where `/proc` cannot be read.
 * Reads in slices as {@link listProcesses} does.
 */
export async function listMarked({ since }: { since: number }): Promise<MarkRow[] | null> {
  const rows: MarkRow[] = [];
  for (const [index, pid] of (listProc() ?? []).entries()) {
    const row = readRow(pid);
    if (row !== null && !row.zombie) rows.push({ ...row, mark: Number(row.start) >= since ? markOf(pid) : null });
    if (index % 64 === 63) await nextTurn();
  }
  return rows.length === 0 ? null : rows;
}

/** Number of visible processes; null where `/proc` cannot be read. */
export function countProcesses(): number | null {
  return listProc()?.length ?? null;
}

/** Reads one process from `/proc`; null where that is unreadable or lacks it. */
export function readRow(pid: number): ProcessRow | null {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return null;
  }
}

/** Living processes whose working directory is a folder or lies in it, as far as `/proc` shows. Real absolute path. */
export function processesIn(folder: string): number[] {
  return (listProc() ?? []).filter((pid) => {
    try {
      return isInside(folder, readlinkSync(`/proc/${pid}/cwd`));
    } catch {
      return false;
    }
  });
}

/** Start time of a process as in {@link readRow}. */
export function processStart(pid: number): string | null {
  return readRow(pid)?.start ?? null;
}

/** Parses `/proc/<pid>/stat` (proc_pid_stat(5)); the name in brackets may itself hold brackets and blanks. */
export function parseStat(text: string): ProcessRow | null {
  const pid = Number.parseInt(text, 10);
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state, ppid, pgid, sid] = fields;
  const start = fields[19];
  if (!Number.isInteger(pid) || state === undefined || start === undefined) return null;
  return {
    pid,
    ppid: Number(ppid),
    pgid: Number(pgid),
    sid: Number(sid),
    start,
    zombie: state === "Z" || state === "X",
  };
}

/** Reads lines of pid, parent, group, session, state, start (five words), arguments and environment; null for none. */
export function parsePs(text: string, mark: string): MarkedRow[] | null {
  const rows = text.split("\n").flatMap((line) => {
    const [pid, ppid, pgid, sid, state, ...rest] = line.trim().split(/\s+/);
    if (pid === undefined || state === undefined || !/^\d+$/.test(pid)) return [];
    const start = rest.slice(0, 5).join(" ");
    const marked = holdsMark(rest.slice(5).join("\0"), mark);
    const zombie = state.startsWith("Z");
    return [{ pid: Number(pid), ppid: Number(ppid), pgid: Number(pgid), sid: Number(sid), start, zombie, marked }];
  });
  return rows.length === 0 ? null : rows;
}

function listProc(): number[] | null {
  if (process.platform !== "linux") return null;
  try {
    return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number);
  } catch {
    return null;
  }
}

/** Runs `ps` with output for {@link parsePs}. The `e` (procps) and `-E` (BSD) add the environment. */
function runPs(): Promise<string> {
  const args = process.platform === "linux"
    ? ["axeww", "-o", "pid=,ppid=,pgid=,sid=,stat=,lstart=,args="]
    : ["-A", "-E", "-ww", "-o", "pid=,ppid=,pgid=,pgid=,stat=,lstart=,command="];
  return new Promise((resolve) => {
    execFile("/bin/ps", args, {
      env: { LC_ALL: "C", PATH: "/bin:/usr/bin" },
      maxBuffer: 64 * 1024 * 1024,
      timeout: 5000,
    }, (_error, stdout) => resolve(stdout));
  });
}
