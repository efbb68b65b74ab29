import { within } from "../../ground/runtime/within.ts";

/** One step of closing a host. */
export interface CloseStep {
  /** What it does, as in "Closing the host: ending sessions took too long". */
  name: string;
  act(): Promise<unknown>;
  /** Longest that is waited for it. */
  ms: number;
}

/** Longest that a host takes to close, whatever is in its way. Milliseconds. */
const longestMs = 30_000;

/**
 * Does one step after the other, whatever becomes of the one before: a step that is late is left behind, one that fails
 * is passed over, and both are told. It never takes longer than 30 seconds: what is left of the steps then is begun, and
 * not waited for.
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
