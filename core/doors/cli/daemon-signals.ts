import { errorTable } from "../../ground/errors/error-table.ts";
import type { SignalHandlers, Terminal } from "../../ground/platform/terminal/terminal.ts";

/** Signals to a command that runs daemons, one after the other. */
export interface DaemonSignals extends Disposable {
  /** Whether the command was told to end. */
  readonly isTold: boolean;
  /** Whether a reload has waited for a daemon; asks once for each. */
  takeReload(): boolean;
  /** Hands the signals to a daemon that is up, and what waited for it. Returns how to hold them again. */
  handTo(handlers: SignalHandlers): () => void;
}

/**
 * Watches the signals of a command from its start to its end: between two watchers one would be lost. While no daemon
 * takes them, they would end it halfway and are held: a signal to end, or the end of the terminal, stops the daemon in
 * order once it is up, and a reload waits until then. A second signal to end does so at once.
 */
export function watchSignals(terminal: Terminal): DaemonSignals {
  let isTold = false;
  let reloads = false;
  const hold: SignalHandlers = {
    end: () => isTold ? terminal.exit(errorTable.interrupted.exit_code) : undefined,
    hangUp: () => {},
    reload: () => void (reloads = true),
  };
  let taker = hold;
  const stop = terminal.onSignals({
    end: () => {
      taker.end();
      isTold = true;
    },
    hangUp: () => {
      taker.hangUp();
      isTold = true;
    },
    reload: () => taker.reload(),
  });
  const takeReload = (): boolean => {
    const waited = reloads;
    reloads = false;
    return waited;
  };
  return {
    get isTold() {
      return isTold;
    },
    takeReload,
    handTo(handlers) {
      taker = handlers;
      if (takeReload()) handlers.reload();
      if (isTold) handlers.hangUp();
      return () => void (taker = hold);
    },
    [Symbol.dispose]: stop,
  };
}
