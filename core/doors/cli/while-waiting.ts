import type { Terminal } from "../../ground/runtime/terminal.ts";

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
