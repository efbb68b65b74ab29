import { ClientError } from "./client-error.ts";

/** Retries of a client that cannot reach its host. */
export interface Patience {
  /** How long to retry. Milliseconds. */
  patienceMs: number;
  /** Called before each retry. Gets the milliseconds since the first failure. */
  onLost?: ((lostMs: number) => unknown) | undefined;
}

/**
 * Runs an idempotent action, and retries it while the host is unreachable or refuses new work.
 * @throws {ClientError} any other failure at once, and that one when the patience or the signal ends
 */
export async function retried<T>(
  act: () => Promise<T>,
  { patienceMs, onLost, signal }: Patience & { signal: AbortSignal | undefined },
): Promise<T> {
  const began = Date.now();
  for (let pauseMs = 100;; pauseMs = Math.min(5000, pauseMs * 2)) {
    try {
      return await act();
    } catch (error) {
      const passing = error instanceof ClientError && ["network_error", "host_closed"].includes(error.code);
      const lostMs = Date.now() - began;
      if (!passing || lostMs >= patienceMs || signal?.aborted) throw error;
      if (error.code === "network_error") await onLost?.(lostMs);
      await pause(error.retryAfterMs ?? pauseMs, signal);
    }
  }
}

/** Waits for so many milliseconds; ends early, without an error, when one of the signals aborts. */
export function pause(ms: number, ...signals: readonly (AbortSignal | undefined)[]): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      for (const signal of signals) signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    for (const signal of signals) signal?.addEventListener("abort", end, { once: true });
    if (signals.some((signal) => signal?.aborted)) end();
  });
}
