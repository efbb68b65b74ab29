import { ClientError } from "./client-error.ts";
import { pause } from "./pause.ts";

/**
 * Runs an idempotent action, and retries it while the host is unreachable or refuses new work.
 * @throws {ClientError} any other failure at once, and that one after the given time
 */
export async function retried<T>(act: () => Promise<T>, patienceMs: number): Promise<T> {
  const until = Date.now() + patienceMs;
  for (let pauseMs = 100;; pauseMs = Math.min(5000, pauseMs * 2)) {
    try {
      return await act();
    } catch (error) {
      const passing = error instanceof ClientError && ["network_error", "host_closed"].includes(error.code);
      if (!passing || Date.now() >= until) throw error;
      await pause(error.retryAfterMs ?? pauseMs, undefined);
    }
  }
}
