import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { errorTable } from "../../ground/errors/error-table.ts";
import type { Terminal } from "../../ground/runtime/terminal.ts";

/** A signal that aborts when the person interrupts or the reader goes away. */
export interface Interrupts extends Disposable {
  /** Aborts with `interrupted`. */
  readonly signal: AbortSignal;
}

/**
 * Turns the first Ctrl-C (or SIGTERM, or the end of standard output's reader) into an abort, and the second into the
 * end of the process.
 */
export function watchInterrupts(terminal: Terminal): Interrupts {
  const controller = new AbortController();
  const abort = (): void => {
    controller.abort(new BulkheadError("interrupted", "The command was interrupted."));
  };
  const stop = terminal.onInterrupt(() => {
    if (controller.signal.aborted) return terminal.exit(errorTable.interrupted.exit_code);
    void terminal.stderr.write("\nInterrupting. Press Ctrl-C again to exit at once.\n");
    abort();
  });
  const { closed } = terminal.stdout;
  if (closed.aborted) abort();
  closed.addEventListener("abort", abort, { once: true });
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      stop();
      closed.removeEventListener("abort", abort);
    },
  };
}
