import { within } from "../../ground/runtime/within.ts";
import type { DaemonView } from "../daemon/inspect-daemon.ts";

/** A daemon's own report of its state. */
interface DaemonAnswer {
  /** Whether it takes sessions; one that does not is shutting down. */
  ready: boolean;
  /** Running sessions. */
  sessions: number;
}

/** How long to wait for an answer. Milliseconds. */
const patienceMs = 5000;

/** Asks a daemon for its state; null where none runs, or it does not answer in time. */
export async function askDaemon({ state, record }: DaemonView): Promise<DaemonAnswer | null> {
  if (state !== "running" || record === null) return null;
  const { connectDaemon } = await import("./remote-sessions.ts");
  const remote = await connectDaemon(record);
  const asked = Promise.all([remote.ready(), remote.list({ state: "running", limit: 500 })]);
  let answer: DaemonAnswer | null = null;
  const taken = asked.then(([ready, { length }]) => void (answer = { ready, sessions: length }), () => {});
  await within(taken, patienceMs);
  return answer;
}
