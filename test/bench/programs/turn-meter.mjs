// Loaded into a process before its program: writes how much of a processor the main thread used between two turns of its
// loop, a line for each that took long. Linux alone tells a thread's own time.
import { appendFileSync, readFileSync } from "node:fs";
import process from "node:process";
import { isMainThread } from "node:worker_threads";

const file = process.env.BULKHEAD_BENCH_TURNS;
const shortestMs = 2;

if (isMainThread && file !== undefined) {
  let before = usedMs();
  setInterval(() => {
    const now = usedMs();
    if (now - before >= shortestMs) appendFileSync(file, `${process.pid} ${Date.now()} ${now - before}\n`);
    before = usedMs();
  }, 1).unref();
}

function usedMs() {
  return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ", 1)[0]) / 1e6;
}
