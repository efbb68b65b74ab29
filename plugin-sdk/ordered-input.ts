import type { RunningProcess } from "./context.ts";
import { splitText } from "./lines.ts";

// Stays below a frame's default size even if every character takes three bytes.
const writeLength = 256 * 1024;

/** Returns the program with an input that writes each text as a whole, one after the other: parts of two never mix. */
export function withOrderedInput(child: RunningProcess): RunningProcess {
  const { stdin, stdout, stderr, exit } = child;
  let last: Promise<unknown> = Promise.resolve();
  const write = (text: string): Promise<void> => {
    const written = last.then(async () => {
      for (const part of splitText(text, writeLength)) await stdin.write(part);
    });
    last = written.catch(() => {});
    return written;
  };
  return { stdin: { write, close: () => stdin.close() }, stdout, stderr, exit, kill: () => child.kill() };
}
