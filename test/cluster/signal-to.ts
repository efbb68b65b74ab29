import type { ChildProcess } from "node:child_process";
import process from "node:process";

const ends = new WeakMap<ChildProcess, { isGone: boolean; gone: Promise<void> }>();

/** Notes when a child ends, for {@link signalTo}; call it as soon as the child is started. */
export function watchEnd(child: ChildProcess): void {
  const end = { isGone: false, gone: Promise.resolve() };
  end.gone = new Promise((resolve) => {
    child.once("exit", () => {
      end.isGone = true;
      resolve();
    });
  });
  ends.set(child, end);
}

/**
 * Sends a child a signal, and waits for its end where that ends it. It names the process by its number: on Deno,
 * `child.kill` takes the first signal of any kind for the end, and sends no SIGCONT after a SIGSTOP.
 */
export async function signalTo(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const end = ends.get(child);
  if (end === undefined || end.isGone || child.pid === undefined) return;
  process.kill(child.pid, signal);
  if (signal === "SIGKILL" || signal === "SIGTERM") await end.gone;
}
