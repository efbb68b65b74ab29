import { cleanJson } from "../../ground/log/terminal-text.ts";
import type { Terminal } from "../../ground/runtime/terminal.ts";

/**
 * The terminal of a command that prints JSON. All that it prints passes here, so that no command can forget it: what a
 * terminal would act on, or a reader would be deceived by, is printed as JSON escapes, and a program reads the same.
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
