import { BulkheadError } from "../../../plugin-sdk/errors.ts";

/** The error of a command that needs the daemon; `reason` is what {@link inspectDaemon} says of it. */
export function notRunning(act: string, reason: string): BulkheadError {
  return new BulkheadError("unavailable", `Cannot ${act}: ${reason.charAt(0).toLowerCase()}${reason.slice(1)}`, {
    hint: "Start the daemon: bulkhead start",
  });
}
