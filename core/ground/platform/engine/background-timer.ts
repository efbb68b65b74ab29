import { clearTimeout, setTimeout } from "node:timers";

/**
 * Calls back once after a time, and does not keep the process alive for it.
 * @returns cancels it
 */
export function startBackgroundTimer(callback: () => void, delayMs: number): () => void {
  const timer = setTimeout(callback, delayMs);
  timer.unref();
  return () => clearTimeout(timer);
}
