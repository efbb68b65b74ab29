import type { CodeReach } from "../../ground/platform/engine/kept-code.ts";
import { startBackgroundTimer } from "../../ground/platform/engine/background-timer.ts";
import { collectGarbageOnce } from "../../ground/platform/engine/collect-garbage.ts";
import { openTerminal } from "../../ground/platform/terminal/terminal.ts";
import { loadHost, runCli } from "./run-cli.ts";

/** After so long a command that still runs is one that stays: a daemon, or a door of an editor. Milliseconds. */
const staysMs = 5000;

/**
 * Runs the command line of this process and ends it.
 * @param keepCode Keeps the engine's code for the next run; returns whether there was some to keep.
 */
export async function start(keepCode: (reach: CodeReach) => boolean = () => false): Promise<void> {
  const terminal = openTerminal();
  let reach: CodeReach = "part";
  const stopWaiting = startBackgroundTimer(() => {
    if (keepCode(reach)) collectGarbageOnce();
  }, staysMs);
  const code = await runCli(terminal, {
    createHost: (options, seams) => {
      reach = "all";
      return loadHost(options, seams);
    },
  });
  stopWaiting();
  keepCode(reach);
  terminal.exit(code);
}
