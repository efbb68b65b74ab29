import { daemonFiles } from "../../daemon/daemon-files.ts";
import { realpath } from "../../../ground/platform/files/files.ts";
import { followLines, lastLines } from "../../../ground/platform/files/follow-lines.ts";
import { InvalidArgumentError } from "commander";
import { type DefineCommand, examples, type Invocation } from "../command.ts";
import { daemonPlace } from "../daemon-place.ts";
import { watchInterrupts } from "../interrupts.ts";
import { logText } from "../render/log-text.ts";
import { createPaint } from "../render/paint.ts";

const defaultLines = 100;

/** `bulkhead logs`. */
export const defineLogs: DefineCommand = (command, bind) => {
  command
    .option("-f, --follow", "go on with what is written from now on, until Ctrl-C")
    .option("-n, --lines <number>", `how many of the last lines; default: ${defaultLines}`, readLines)
    .addHelpText(...examples(
      ["bulkhead logs -f", "watch the daemon"],
      ["bulkhead logs -n 1000 --json | jq 'select(.level == \"error\")'", "each line as it is written"],
    ))
    .action(bind(logs));
};

async function logs(call: Invocation): Promise<number> {
  const { terminal, json, options } = call;
  const { stateDir } = await daemonPlace(call);
  const { log } = daemonFiles(await realpath(stateDir).catch(() => stateDir));
  const paint = createPaint(terminal.colours.stdout);
  const show = (line: string) => terminal.stdout.write(`${json ? line : logText(line, paint)}\n`);
  const wanted = typeof options["lines"] === "number" ? options["lines"] : defaultLines;
  const { lines, end } = await lastLines(log, wanted);
  for (const line of lines) await show(line);
  if (options["follow"] !== true) {
    if (lines.length === 0) await terminal.stderr.write("The daemon has not written anything yet.\n");
    return 0;
  }
  using interrupts = watchInterrupts(terminal, { note: null });
  for await (const line of followLines(log, { from: end, signal: interrupts.signal })) await show(line);
  return 0;
}

function readLines(typed: string): number {
  if (/^\d{1,7}$/.test(typed)) return Number(typed);
  throw new InvalidArgumentError("It is not a number of lines.");
}
