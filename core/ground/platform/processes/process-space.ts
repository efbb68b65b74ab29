import { readdirSync, readFileSync } from "node:fs";
import process from "node:process";
import { processStart, readRow } from "./process-rows.ts";

/**
 * First process of a PID namespace. The kernel ends all others of the namespace with it, and it is gone only after them,
 * so that it stands for the whole of them.
 */
export interface FirstProcess {
  pid: number;
  /** Start time, as in `ProcessRow`. */
  start: string;
}

/**
 * Returns the first process of the namespace that a containing program has made; null where there is none yet or any
 * more, or the system does not show it.
 * @param container a program that starts nothing but that process
 */
export function firstProcessIn(container: { pid: number; startTime: string | null }): FirstProcess | null {
  const pid = childrenOf(container.pid).find(isFirst);
  const row = pid === undefined ? null : readRow(pid);
  // Once the program has ended, another one may have its number.
  if (row === null || row.ppid !== container.pid || processStart(container.pid) !== container.startTime) return null;
  return { pid: row.pid, start: row.start };
}

/** Processes that a process has started, and these in turn, as far as they can be seen while they run. */
export function descendantsOf(pid: number): number[] {
  const found = new Set<number>();
  const open = [pid];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const child of childrenOf(at)) {
      if (found.has(child)) continue;
      found.add(child);
      open.push(child);
    }
  }
  return [...found];
}

/** Returns the direct children of a process: each of its threads has a list of them (proc_tid_children(5)). */
function childrenOf(pid: number): number[] {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    return threads.flatMap((thread) => numbersIn(readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8")));
  } catch {
    return [];
  }
}

/** Whether a process is number 1 of a namespace below this one: it has one more number than this process. */
function isFirst(pid: number): boolean {
  const [own, theirs] = [numbersOf(process.pid), numbersOf(pid)];
  return own.length > 0 && theirs.length === own.length + 1 && theirs.at(-1) === 1;
}

/** Numbers of a process in each of the namespaces that it is in (proc_pid_status(5)). */
function numbersOf(pid: number): number[] {
  try {
    return numbersIn(/^NSpid:(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? "");
  } catch {
    return [];
  }
}

function numbersIn(text: string): number[] {
  return text.split(/\s+/).filter((word) => word !== "").map(Number);
}
