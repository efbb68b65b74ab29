import { sleep } from "./wait.ts";

/** The part of a worker thread needed to end it. */
interface LiveThread {
  once(event: "exit", take: () => void): unknown;
  terminate(): unknown;
}

const live = new Set<LiveThread>();

/** Remembers a thread of this process until it has exited. */
export function watchThread(thread: LiveThread): void {
  live.add(thread);
  thread.once("exit", () => void live.delete(thread));
}

/** Threads that have not exited. */
export function liveThreads(): number {
  return live.size;
}

/** Asks all threads to end and waits at most `ms`; false when one is left. */
export async function endThreads(ms: number): Promise<boolean> {
  for (const thread of live) void Promise.resolve(thread.terminate()).catch(() => {});
  const until = performance.now() + ms;
  while (live.size > 0 && performance.now() < until) await sleep(10);
  return live.size === 0;
}
