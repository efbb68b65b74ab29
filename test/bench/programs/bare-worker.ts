import { parentPort } from "node:worker_threads";

/** What a task of the bare pool gives: as many small objects as the benched session has events. */
export default function task(): object[] {
  return [line(1), line(2), line(3), line(4), {
    type: "completed",
    success: true,
    files_changed: [],
    tokens_used: null,
    cost: null,
  }];
}

// Started as a plain thread this floods its parent with the same events, `batch` in each message.
parentPort?.on("message", (message: { flood?: number; batch?: number }) => {
  const { flood, batch = 1 } = message;
  if (flood === undefined || parentPort === null) return;
  for (let n = 1; n <= flood; n += batch) {
    if (batch === 1) parentPort.postMessage(line(n));
    else parentPort.postMessage(Array.from({ length: Math.min(batch, flood - n + 1) }, (_, index) => line(n + index)));
  }
});

function line(n: number) {
  return { type: "output", stream: "stdout", data: `line ${n}\n` };
}
