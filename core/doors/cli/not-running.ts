import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { DaemonView } from "../daemon/inspect-daemon.ts";

/** The error of a command that needs the daemon, from what {@link inspectDaemon} says of it. */
export function notRunning(act: string, { state, reason }: Pick<DaemonView, "state" | "reason">): BulkheadError {
  return new BulkheadError("unavailable", `Cannot ${act}: ${reason.charAt(0).toLowerCase()}${reason.slice(1)}`, {
    hint: state === "elsewhere" ? "Do it there." : "Start the daemon: bulkhead start",
  });
}
