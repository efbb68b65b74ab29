import { inspectDaemon } from "../../daemon/inspect-daemon.ts";
import { type DefineCommand, examples, type Invocation } from "../command.ts";
import { daemonPlace } from "../daemon-place.ts";
import { whileWaiting } from "../while-waiting.ts";
import { startInBackground } from "./start.ts";
import { stopDaemon } from "./stop.ts";
import { daemonText, readPort } from "./up.ts";

/** `bulkhead restart`. */
export const defineRestart: DefineCommand = (command, bind) => {
  command
    .option("--port <number>", "TCP port on 127.0.0.1, 0 for any that is free; default: daemon.port", readPort)
    .option("--now", "kill it: the next start ends its sessions as host_restarted")
    .addHelpText("after", examples(["bulkhead restart", "stop it in order, if it runs, and start it"]))
    .action(bind(restart));
};

async function restart(call: Invocation): Promise<number> {
  const { terminal, json } = call;
  // Check first: otherwise the daemon would stop and could not start again.
  const { problem, stateDir } = await daemonPlace(call);
  if (problem !== null) throw problem;
  const { record: before } = await inspectDaemon(stateDir);
  const stopped = await stopDaemon(call, "restart the daemon");
  // In a folder without a bulkhead.yaml the daemon keeps its own.
  const work = startInBackground(call, { configFile: before?.config_file ?? undefined });
  const record = await whileWaiting("Starting the daemon …", { terminal, work });
  await terminal.stdout.write(
    json ? `${JSON.stringify({ daemon: record, stopped })}\n` : daemonText(record, call),
  );
  return 0;
}
