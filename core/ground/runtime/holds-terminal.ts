import { closeSync, openSync } from "node:fs";
import { isatty } from "node:tty";
import { platform } from "./platform.ts";

/**
 * Standard streams of which one at least leads to the terminal of a process in use there. `nohup` leaves none of them at
 * it; on macOS and the BSDs it leaves standard input. It has no other trace: Node resets the signals it ignored.
 */
const streams = platform === "linux" ? [0, 1, 2] : [1, 2];

/**
 * Whether this process belongs to the terminal it was started in, so that a SIGHUP means that the terminal was closed.
 * Ask before the first SIGHUP: a terminal that is closed is no longer any process's own.
 */
export function holdsTerminal(): boolean {
  return streams.some((stream) => isatty(stream)) && hasControllingTerminal();
}

/** A process in a session of its own has none, also where a stream of its still leads to one. */
function hasControllingTerminal(): boolean {
  try {
    closeSync(openSync("/dev/tty", "r"));
    return true;
  } catch (error) {
    // Any other error says nothing about the terminal, for example where a container has no /dev/tty.
    return !(error instanceof Error && "code" in error && error.code === "ENXIO");
  }
}
