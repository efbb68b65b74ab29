import type { Terminal } from "../../ground/platform/terminal/terminal.ts";
import { isPlain } from "./render/paint.ts";
import { fitLine, wrapLines } from "./render/text-width.ts";

/** Shows a watching person a line while work runs, and removes it again. */
export async function whileWaiting<T>(
  line: string,
  { terminal, work }: { terminal: Terminal; work: Promise<T> },
): Promise<T> {
  const { stderr } = terminal;
  if (!stderr.isTty) return await work;
  if (isPlain(terminal)) {
    await stderr.write(`${wrapLines(line, stderr.columns)}\n`);
    return await work;
  }
  // Only one line is removed again.
  await stderr.write(stderr.columns === 0 ? line : fitLine(line, stderr.columns - 1));
  try {
    return await work;
  } finally {
    // To the first column, and erase to the end of the line (ECMA-48, 8.3.41).
    await stderr.write("\r\u001b[K");
  }
}

/** A line that shows a watching person the progress, and disappears again. */
export interface StatusLine {
  /** Replaces the line before; redraws no more often than a person can read. */
  show(text: string): void;
  clear(): Promise<void>;
}

const everyMs = 100;

/** Creates the line on standard error, a terminal where lines may change; elsewhere nothing is ever shown. */
export function progressLine(terminal: Pick<Terminal, "stderr" | "colours">): StatusLine {
  const sink = terminal.stderr;
  let shownAt = -Infinity;
  return {
    show(text) {
      const now = performance.now();
      if (!sink.isTty || isPlain(terminal) || now - shownAt < everyMs) return;
      shownAt = now;
      void sink.write(`\r${text}\u001b[K`);
    },
    async clear() {
      // To the first column, and erase to the end of the line (ECMA-48, 8.3.41).
      if (shownAt > -Infinity) await sink.write("\r\u001b[K");
    },
  };
}
