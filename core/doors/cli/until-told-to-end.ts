import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { Daemon } from "../daemon/daemon.ts";
import { errorTable } from "../../ground/errors/error-table.ts";
import type { Invocation } from "./command.ts";
import type { DaemonSignals } from "./daemon-signals.ts";

/**
 * Keeps the daemon up until SIGINT, SIGTERM, or the end of its terminal or of standard output's reader, then stops it in
 * order. Without a terminal SIGHUP reloads the host manifest. Also ends when `signal` aborts; aborts `interrupts` when told
 * to end.
 * A second signal ends the process at once: the next start cleans up after it.
 */
export async function untilToldToEnd(
  daemon: Daemon,
  { terminal }: Pick<Invocation, "terminal">,
  { signals, signal, interrupts, drainMs = () => undefined }: {
    signals: DaemonSignals;
    signal: AbortSignal;
    interrupts?: AbortController;
    /** Returns how long running sessions may still take, where that is not what the daemon's settings say. */
    drainMs?: () => number | undefined;
  },
): Promise<void> {
  let release = (): void => {};
  const { closed } = terminal.stdout;
  await new Promise<void>((resolve) => {
    let told = false;
    const gone = (): void => {
      told = true;
      interrupts?.abort(new BulkheadError("interrupted", "The command was interrupted."));
      resolve();
    };
    const end = (): void => {
      if (told) return terminal.exit(errorTable.interrupted.exit_code);
      void terminal.stderr.write("\nStopping. Press Ctrl-C again to stop at once.\n");
      gone();
    };
    // The log reports the manifest's errors.
    const reload = (): void => void daemon.reload().catch(() => undefined);
    release = signals.handTo({ end, hangUp: gone, reload });
    for (const other of [closed, signal]) {
      if (other.aborted) gone();
      other.addEventListener("abort", gone, { once: true });
    }
  });
  try {
    const ms = drainMs();
    await daemon.stop(ms === undefined ? {} : { drainMs: ms });
  } finally {
    release();
  }
}
