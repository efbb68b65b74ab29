import type { BudgetReport } from "../../../plugin-sdk/budget-report.ts";
import { BulkheadError, type ErrorData } from "../../../plugin-sdk/errors.ts";
import type { SessionSummary } from "../../../plugin-sdk/session-summary.ts";
import { within } from "../../ground/platform/engine/within.ts";
import type { DaemonRecord } from "../daemon/daemon-record.ts";
import { type DaemonView, inspectDaemon } from "../daemon/inspect-daemon.ts";

/** A daemon's own report of its state. */
interface DaemonAnswer {
  /** Why it takes no sessions; null where it takes them. */
  refusal: Pick<ErrorData, "code" | "message"> | null;
  /** Sessions that have not ended. */
  running: readonly SessionSummary[];
  /** Ids of plugins in quarantine. */
  quarantined: readonly string[];
  budgets: readonly BudgetReport[];
}

/**
 * Asks a daemon for its state; null where none runs, or it does not answer in time.
 * @param ms how long to wait for an answer
 */
export async function askDaemon({ state, record }: DaemonView, ms = 5000): Promise<DaemonAnswer | null> {
  if (state !== "running" || record === null) return null;
  const { connectDaemon } = await import("./remote-sessions.ts");
  const remote = await connectDaemon(record);
  const asked = Promise.all([
    remote.refusal(),
    remote.list({ state: "running", limit: 500 }),
    remote.plugins(),
    // A daemon of an earlier version has none.
    remote.budgets().catch(() => []),
  ]);
  let answer: DaemonAnswer | null = null;
  const taken = asked.then(([refusal, running, plugins, budgets]) => {
    const quarantined = plugins.filter(({ quarantine }) => quarantine !== null).map(({ id }) => id);
    answer = { refusal, running, quarantined, budgets };
  }, () => {});
  await within(taken, ms);
  return answer;
}

/**
 * Returns the record of the daemon that runs for a state folder.
 * @throws {BulkheadError} `unavailable` where none runs here
 */
export async function runningDaemon(stateDir: string, act: string): Promise<DaemonRecord> {
  const { state, record, reason } = await inspectDaemon(stateDir);
  if (state === "running" && record !== null) return record;
  throw new BulkheadError("unavailable", `Cannot ${act}: ${reason.charAt(0).toLowerCase()}${reason.slice(1)}`, {
    hint: state === "elsewhere" ? "Do it there." : "Start the daemon: bulkhead start",
  });
}
