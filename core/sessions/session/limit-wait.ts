import { wait } from "../../ground/runtime/wait.ts";
import type { AttemptDeps } from "./attempt-deps.ts";
import type { Candidate } from "./session-options.ts";

/**
 * Waits for the end of a candidate's known limit, if that is within the time left, and tells so. Ends early, without a
 * throw, when the session is stopped.
 * @returns the wait in milliseconds
 */
export async function waitForLimit(
  { limitedUntil, plugin }: Pick<Candidate, "limitedUntil" | "plugin">,
  { stream, deadlines, signal }: Pick<AttemptDeps, "stream" | "deadlines" | "signal">,
): Promise<number> {
  if (limitedUntil === null) return 0;
  const ms = Math.ceil(limitedUntil - Date.now());
  if (ms <= 0 || ms > deadlines.leftMs) return 0;
  deadlines.start();
  const reason = `${plugin.id} is limited until ${new Date(limitedUntil).toISOString()}.`;
  stream.host({ type: "queued", position: 1, retry_in_ms: ms, reason });
  await wait(ms, signal);
  return ms;
}
