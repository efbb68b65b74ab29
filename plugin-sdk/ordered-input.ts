import type { RunningProcess } from "./context.ts";
import { splitText } from "./lines.ts";

// Stays below a frame's default size even if every character takes three bytes.
const writeLength = 256 * 1024;

/** Returns the program with an input that keeps the parts of a long text together: no other text comes between them. */
export function withOrderedInput(child: RunningProcess): RunningProcess {
  const { stdin, stdout, stderr, exit } = child;
  /** The long text that is being written, and all that waits for it. */
  let last: Promise<void> | null = null;
  const inOrder = (act: () => Promise<void>): Promise<void> => {
    const done = (last ?? Promise.resolve()).then(act);
    const settled: Promise<void> = done.catch(() => {}).then(() => {
      if (last === settled) last = null;
    });
    last = settled;
    return done;
  };
  const write = async (text: string): Promise<void> => {
    for (const part of splitText(text, writeLength)) await stdin.write(part);
  };
  return {
    stdin: {
      write: (text) => last === null && text.length <= writeLength ? stdin.write(text) : inOrder(() => write(text)),
      close: () => last === null ? stdin.close() : inOrder(() => stdin.close()),
    },
    stdout,
    stderr,
    exit,
    kill: () => child.kill(),
  };
}
