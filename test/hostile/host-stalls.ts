import { existsSync, readFileSync } from "node:fs";
import process from "node:process";

/** How long this process's event loop stood still, at most. Milliseconds. */
export interface Stalls {
  /** Processor time of this thread from one turn of the timer to the next; null where the system does not tell. */
  cpuMs: number | null;
  /** Time from one turn to the next: on a busy machine others take their part of it. */
  wallMs: number;
}

const everyMs = 5;

/** Watches the event loop of this thread, which must be the process's first. Call what comes back to end it. */
export function watchStalls(): () => Stalls {
  let last = { wall: performance.now(), cpu: threadCpuMs() };
  const worst = { cpuMs: last.cpu === null ? null : 0, wallMs: 0 };
  const look = () => {
    const now = { wall: performance.now(), cpu: threadCpuMs() };
    worst.wallMs = Math.max(worst.wallMs, now.wall - last.wall);
    if (now.cpu !== null && last.cpu !== null) worst.cpuMs = Math.max(worst.cpuMs ?? 0, now.cpu - last.cpu);
    last = now;
  };
  const timer = setInterval(look, everyMs);
  return () => {
    clearInterval(timer);
    look();
    return worst;
  };
}

const schedule = `/proc/self/task/${process.pid}/schedstat`;

/** The first number of a thread's `schedstat`: nanoseconds on a processor (Linux: Documentation/scheduler/sched-stats). */
function threadCpuMs(): number | null {
  return existsSync(schedule) ? Number(readFileSync(schedule, "utf8").split(" ")[0]) / 1e6 : null;
}
