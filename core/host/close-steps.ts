import { within } from "../runtime/within.ts";

/** One step of closing a host. */
export interface CloseStep {
  /** What it does, as in "Closing the host: ending sessions took too long". */
  name: string;
  act(): Promise<unknown>;
  /** Longest that is waited for it. */
  ms: number;
}

/**
 * Does one step after the other, whatever becomes of the one before: a step that is late is left behind, one that fails
 * is passed over, and both are told. So it never takes longer than the steps' times together.
 */
export async function closeInSteps(steps: readonly CloseStep[], tell: (message: string) => void): Promise<void> {
  for (const { name, act, ms } of steps) {
    try {
      if (!(await within(act(), ms))) tell(`Closing the host: ${name} took longer than ${ms} ms and was left behind.`);
    } catch (error) {
      tell(`Closing the host: ${name} failed: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}
