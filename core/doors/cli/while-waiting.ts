import type { Terminal } from "../../ground/platform/terminal/terminal.ts";
import type { TextSink } from "../../ground/platform/terminal/standard-streams.ts";

/** Shows a watching person a line while work runs, and removes it again. */
export async function whileWaiting<T>(
  line: string,
  { terminal, work }: { terminal: Terminal; work: Promise<T> },
): Promise<T> {
  const { stderr } = terminal;
  if (!stderr.isTty) return await work;
  await stderr.write(line);
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

/** Creates the line on a terminal; on anything else nothing is ever shown. */
export function progressLine(sink: TextSink): StatusLine {
  let shownAt = -Infinity;
  return {
    show(text) {
      const now = performance.now();
      if (!sink.isTty || now - shownAt < everyMs) return;
      shownAt = now;
      void sink.write(`\r${text}\u001b[K`);
    },
    async clear() {
      // To the first column, and erase to the end of the line (ECMA-48, 8.3.41).
      if (shownAt > -Infinity) await sink.write("\r\u001b[K");
    },
  };
}
