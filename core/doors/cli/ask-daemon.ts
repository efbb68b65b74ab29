import type { DaemonView } from "../daemon/inspect-daemon.ts";

/** A daemon's answer about itself. */
export interface DaemonAnswer {
  /** It takes sessions; one that does not is shutting down. */
  ready: boolean;
  /** Sessions that run. */
  sessions: number;
}

/** How long an answer is waited for. Milliseconds. */
const patienceMs = 5000;

/** Asks a daemon itself how it is; null where none runs, or it does not answer soon. */
export async function askDaemon({ state, record }: DaemonView): Promise<DaemonAnswer | null> {
  if (state !== "running" || record === null) return null;
  const { connectDaemon } = await import("./remote-sessions.ts");
  const remote = await connectDaemon(record);
  const answered = Promise.all([remote.ready(), remote.list({ state: "running", limit: 500 })])
    .then(([ready, { length }]) => ({ ready, sessions: length }), () => null);
  const late = new Promise<null>((resolve) => {
    const timer = setTimeout(() => resolve(null), patienceMs);
    void answered.finally(() => clearTimeout(timer));
  });
  return await Promise.race([answered, late]);
}
