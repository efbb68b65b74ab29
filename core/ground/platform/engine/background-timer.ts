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

const lookEveryMs = 500;

/** Looks that follow one another while something is watched. */
interface Looks {
  /** Begins them, unless they go on. */
  start(): void;
  stop(): void;
}

/** Looks twice a second while there is something to watch. A look that fails is made again with the next. */
export function lookOften(watched: ReadonlySet<unknown>, look: () => Promise<void>): Looks {
  let cancel: (() => void) | null = null;
  let looking = false;
  const start = () => {
    if (!looking && watched.size > 0) cancel ??= startBackgroundTimer(() => void run(), lookEveryMs);
  };
  const run = async () => {
    cancel = null;
    looking = true;
    await look().catch(() => {});
    looking = false;
    start();
  };
  return {
    start,
    stop() {
      cancel?.();
      cancel = null;
    },
  };
}
