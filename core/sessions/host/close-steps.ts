import { within } from "../../ground/runtime/within.ts";

/** One step of closing a host. */
export interface CloseStep {
  /** Name of the step for the log, as in "Closing the host: ending sessions took too long". */
  name: string;
  act(): Promise<unknown>;
  /** Longest wait for the step. Milliseconds. */
  ms: number;
}

/** Longest time that closing a host takes. Milliseconds. */
const longestMs = 30_000;

/**
 * Runs the steps one after the other and reports each that is late or fails: a late step is abandoned, a failed one
 * skipped. It never takes longer than 30 seconds: after that it starts the remaining steps and does not wait for them.
 */
export async function closeInSteps(steps: readonly CloseStep[], tell: (message: string) => void): Promise<void> {
  const end = performance.now() + longestMs;
  for (const { name, act, ms } of steps) {
    const waitMs = Math.round(Math.max(0, Math.min(ms, end - performance.now())));
    try {
      if (await within(act(), waitMs)) continue;
      tell(`Closing the host: ${name} took longer than ${waitMs} ms and was left behind.`);
    } catch (error) {
      tell(`Closing the host: ${name} failed: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}
