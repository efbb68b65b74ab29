import { errorDataOf, feedStdin, mcpServerList, type RunningProcess, splitLines } from "bulkhead/plugin-sdk";
import type { OddOutput, Transport } from "./transport.ts";

/** Messages as lines on the standard input and output of a program. */
export function processTransport(child: RunningProcess): Transport {
  let odd: OddOutput | null = null;
  return {
    messages: splitLines(child.stdout, {
      messages: true,
      onTooLong: (beginning) => odd?.tooLong(beginning),
      onUnfinished: (text) => odd?.unfinished(text) ?? false,
    }),
    onOdd: (reader) => odd = reader,
    send: (text) => text.includes(mcpServerList) ? sendWhole(child, text) : sendText(child, text),
    close: () => child.stdin.close(),
  };
}

function sendText(child: RunningProcess, text: string): Promise<void> {
  return feedStdin(child, `${text}\n`, { keep_stdin_open: true });
}

/** The host fills in a message that it gets whole, and says if it cannot. */
async function sendWhole(child: RunningProcess, text: string): Promise<void> {
  try {
    await child.stdin.write(`${text}\n`);
  } catch (thrown) {
    // Any other failure: the program is gone, and how it went says the rest.
    if (errorDataOf(thrown)?.code === "unsupported") throw thrown;
  }
}
