import { type DaemonView, inspectDaemon } from "../daemon/inspect-daemon.ts";
import type { Terminal } from "../../ground/runtime/terminal.ts";
import { asTyped } from "./render/as-typed.ts";

/** How long a daemon may leave its clients without an answer before that is told. Milliseconds. */
const quietMs = 1000;

/**
 * Makes the function that tells the person, once for each loss, that a daemon is gone or does not answer. Its client
 * calls it before each retry.
 */
export function tellOfLoss(stateDir: string, { stderr }: Pick<Terminal, "stderr">): (lostMs: number) => Promise<void> {
  let isTold = false;
  return async (lostMs) => {
    if (lostMs === 0) isTold = false;
    if (isTold) return;
    const { state, pid } = await inspectDaemon(stateDir);
    const isGone = state !== "running" && state !== "starting";
    if (!isGone && lostMs < quietMs) return;
    isTold = true;
    await stderr.write(`\n${asTyped(sentences[state](pid))}\nWaiting for it. Press Ctrl-C to leave.\n`);
  };
}

const noAnswer = () => 'The daemon does not answer. "bulkhead status" tells more.';

const sentences: Readonly<Record<DaemonView["state"], (pid: number | null) => string>> = {
  killed: (pid) => `The daemon was killed: process ${pid} is gone. Start it again: bulkhead start`,
  stale: () => "The daemon was killed. Start it again: bulkhead start",
  elsewhere: () => "The daemon has stopped here, and another one runs in another container or on another machine.",
  stopped: () => "The daemon has stopped. Start it again: bulkhead start",
  starting: noAnswer,
  running: noAnswer,
};
