import { feedStdin, type RunningProcess, splitLines } from "bulkhead/plugin-sdk";
import type { Transport } from "./conversation.ts";

/** Messages as lines on the standard input and output of a program. */
export function processTransport(child: RunningProcess): Transport {
  return {
    messages: splitLines(child.stdout),
    send: (text) => feedStdin(child, `${text}\n`, { keep_stdin_open: true }),
    close: () => child.stdin.close(),
  };
}
