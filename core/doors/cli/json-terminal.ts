import { cleanJson } from "../../ground/log/terminal-text.ts";
import type { Terminal } from "../../ground/runtime/terminal.ts";

/**
 * Wraps the terminal of a command that prints JSON. All its output passes here, so no command can forget it: characters
 * that a terminal would obey, or that could deceive a reader, become JSON escapes, and a program reads the same values.
 */
export function jsonTerminal(terminal: Terminal): Terminal {
  const { stdout } = terminal;
  return {
    ...terminal,
    stdout: {
      isTty: stdout.isTty,
      get columns() {
        return stdout.columns;
      },
      closed: stdout.closed,
      write: (text) => stdout.write(typeof text === "string" ? cleanJson(text) : text),
      flush: () => stdout.flush(),
      giveUpAfter: (ms) => stdout.giveUpAfter(ms),
    },
  };
}
