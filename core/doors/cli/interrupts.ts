import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { errorTable } from "../../ground/errors/error-table.ts";
import type { Terminal } from "../../ground/platform/terminal/terminal.ts";

/** A signal that aborts when the person interrupts or the reader goes away. */
export interface Interrupts extends Disposable {
  /** Aborts with `interrupted`. */
  readonly signal: AbortSignal;
  /** Does what Ctrl-C does. */
  interrupt(): void;
}

/** Note of a command that needs time to end. */
const ending = "Interrupting. Press Ctrl-C again to exit at once.";

/**
 * Turns the first Ctrl-C (or SIGTERM, or the end of standard output's reader) into an abort, and the second into the
 * end of the process.
 * @param options.note tells the person what the first one did; null for a command that ends at once
 */
export function watchInterrupts(terminal: Terminal, { note = ending }: { note?: string | null } = {}): Interrupts {
  const controller = new AbortController();
  const abort = (): void => {
    controller.abort(new BulkheadError("interrupted", "The command was interrupted."));
  };
  const interrupt = (): void => {
    if (controller.signal.aborted) return terminal.exit(errorTable.interrupted.exit_code);
    if (note !== null) void terminal.stderr.write(`\n${note}\n`);
    abort();
  };
  const stop = terminal.onInterrupt(interrupt);
  const { closed } = terminal.stdout;
  if (closed.aborted) abort();
  closed.addEventListener("abort", abort, { once: true });
  return {
    signal: controller.signal,
    interrupt,
    [Symbol.dispose]() {
      stop();
      closed.removeEventListener("abort", abort);
    },
  };
}
