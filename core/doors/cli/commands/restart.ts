import { dirname } from "../../../ground/platform/files/paths.ts";
import { readHostManifest } from "../../../packages/manifest/find-host-manifest.ts";
import type { DaemonRecord } from "../../daemon/daemon-record.ts";
import { inspectDaemon } from "../../daemon/inspect-daemon.ts";
import { type DefineCommand, examples, type Invocation, tell } from "../command.ts";
import { type DaemonPlace, daemonPlace } from "../daemon-place.ts";
import { demandOwnProject } from "../project-daemon.ts";
import { safeText } from "../render/agent-text.ts";
import { asTyped } from "../render/as-typed.ts";
import { whileWaiting } from "../while-waiting.ts";
import { startInBackground } from "./start.ts";
import { stopDaemon } from "./stop.ts";
import { daemonText, readPort } from "./up.ts";

/** `bulkhead restart`. */
export const defineRestart: DefineCommand = (command, bind) => {
  command
    .option("--port <number>", "TCP port on 127.0.0.1, 0 for any that is free; default: daemon.port", readPort)
    .option("--now", "kill it: the next start ends its sessions as host_restarted")
    .addHelpText(...examples(["bulkhead restart", "stop it in order, if it runs, and start it"]))
    .action(bind(restart));
};

async function restart(call: Invocation): Promise<number> {
  const { terminal } = call;
  const place = await daemonPlace(call);
  if (place.problem !== null) throw place.problem;
  const { record: before } = await inspectDaemon(place.stateDir);
  if (before !== null) await checkFirst(call, { place, before });
  const stopped = await stopDaemon(call, "restart the daemon");
  // In a folder without a bulkhead.yaml the daemon keeps its own.
  const work = startInBackground(call, { configFile: before?.config_file ?? undefined });
  const record = await whileWaiting("Starting the daemon …", { terminal, work });
  return await tell(call, { daemon: record, stopped }, daemonText(record, call));
}

/** Otherwise the daemon would stop and could not start again. */
async function checkFirst(
  { terminal, options }: Invocation,
  { place, before }: { place: DaemonPlace; before: DaemonRecord },
): Promise<void> {
  demandOwnProject(before, { place, act: "restart the daemon" });
  const { configFile = before.config_file, stateDir } = place;
  const manifest = place.manifest ?? (configFile === null ? undefined : await readHostManifest(configFile));
  const root = configFile === null ? place.root : dirname(configFile);
  const { checkStart } = await import("../../daemon/check-start.ts");
  const port = options["port"] as number | undefined;
  const left = await checkStart({ manifest, root, stateDir, port, running: before });
  for (const { message } of left) await terminal.stderr.write(`${asTyped(safeText(message))}\n`);
}
