import { startBackgroundTimer } from "./background-timer.ts";

/** Waits; ends early, without a throw, when the signal aborts. */
export function wait(ms: number, signal: AbortSignal): Promise<void> {
  return waitWith(startTimer, ms, signal);
}

/** As {@link wait}, and does not keep the process alive for it. */
export function waitInBackground(ms: number, signal: AbortSignal): Promise<void> {
  return waitWith(startBackgroundTimer, ms, signal);
}

function waitWith(start: typeof startBackgroundTimer, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = (): void => {
      cancel();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const cancel = start(done, Math.min(ms, 2 ** 31 - 1));
    signal.addEventListener("abort", done);
  });
}

function startTimer(callback: () => void, delayMs: number): () => void {
  const timer = setTimeout(callback, delayMs);
  return () => clearTimeout(timer);
}

/** Waits; nothing can cut it short. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Resolves when the signal aborts. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
