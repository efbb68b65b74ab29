import type { CommandHandler, Invocation } from "./command.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { daemonFor } from "./open-sessions.ts";

/** Wraps a command that changes the host manifest: after it, a daemon that runs with the manifest reloads it. */
export function reloading(handler: CommandHandler): CommandHandler {
  return async (call) => {
    const code = await handler(call);
    if (code === 0 && !call.embedded) await reloadDaemon(call);
    return code;
  };
}

/** Note for help texts. */
export const reloadNote = "\nA daemon that runs with this bulkhead.yaml takes the change over, for new sessions.";

/** @throws {BulkheadError} the daemon's reason for refusing the manifest */
async function reloadDaemon(call: Invocation): Promise<void> {
  const daemon = await daemonFor(call, { quiet: true });
  if (daemon === null) return;
  const { connectDaemon, ours } = await import("./remote-sessions.ts");
  const remote = await connectDaemon(daemon.record);
  try {
    const { added, removed, changed } = await ours(remote.reload());
    // The command must print the same, whether a daemon runs or not.
    if (added.length + removed.length + changed.length === 0) return;
    await call.terminal.stderr.write("The daemon now uses it.\n");
  } catch (error) {
    const { code, message, hint } = toErrorData(error);
    throw new BulkheadError(code, `The change is written, but the daemon did not take it over. ${message}`, {
      hint: hint ?? 'Try "bulkhead reload".',
      cause: error,
    });
  }
}
