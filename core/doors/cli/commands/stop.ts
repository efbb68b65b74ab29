import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { defaultDaemonSettings } from "../../../ground/config/daemon-settings.ts";
import { daemonFiles } from "../../daemon/daemon-files.ts";
import { type DaemonRecord, readDaemonRecord, writeDaemonRecord } from "../../daemon/daemon-record.ts";
import { type DaemonView, inspectDaemon } from "../../daemon/inspect-daemon.ts";
import { isAlive } from "../../../ground/platform/state/lock-holder.ts";
import { processStart } from "../../../ground/platform/processes/process-rows.ts";
import { sendSignal } from "../../../ground/platform/processes/send-signal.ts";
import { sleep } from "../../../ground/platform/engine/wait.ts";
import { askDaemon } from "../ask-daemon.ts";
import { type DefineCommand, examples, type Invocation, tell } from "../command.ts";
import { daemonPlace } from "../daemon-place.ts";
import { demandOwnProject } from "../project-daemon.ts";
import { whileWaiting } from "../while-waiting.ts";

/** Time for a daemon to clean up after its sessions, beyond the time of the sessions themselves. */
const closingMs = 45_000;
const lookEveryMs = 25;

/** `bulkhead stop`. */
export const defineStop: DefineCommand = (command, bind) => {
  command
    .option("--now", "kill it: the next start ends its sessions as host_restarted")
    .addHelpText(...examples(
      ["bulkhead stop", "sessions that run get daemon.drain_ms, then they are interrupted"],
      ["bulkhead stop --now", "at once, whatever runs"],
    ))
    .action(bind(stop));
};

async function stop(call: Invocation): Promise<number> {
  const pid = await stopDaemon(call);
  const text = pid === null ? "No daemon runs on this state folder." : `Stopped the daemon, process ${pid}.`;
  return await tell(call, { stopped: pid !== null, pid }, text);
}

/**
 * Stops the daemon of a command's state folder and waits until it has ended.
 * @returns its pid; null where none ran
 * @throws {BulkheadError} `busy` when it is another project's or runs elsewhere, `timeout` when it does not end, `unavailable` when it cannot be told whether it is the daemon
 */
export async function stopDaemon(call: Invocation, act = "stop the daemon"): Promise<number | null> {
  const place = await daemonPlace(call);
  const { stateDir, manifest } = place;
  const view = await inspectDaemon(stateDir);
  const { state, pid } = view;
  if (state === "elsewhere") throw outOfReach(act, view);
  if (pid === null || (state !== "running" && state !== "starting")) return null;
  demandOwnProject(view.record, { place, act });
  const holder = { pid, start: processStart(pid) };
  const now = call.options["now"] === true;
  const answer = now && view.certain ? null : await askDaemon(view);
  if (answer === null && !view.certain) throw uncertain(pid);
  // A second SIGTERM would end it at once, along with the sessions that still have time.
  if (!now && answer?.refusal?.code === "host_closed") {
    await call.terminal.stderr.write("The daemon is shutting down already.\n");
  } else sendSignal(pid, now ? "SIGKILL" : "SIGTERM");
  const patience = (manifest?.daemon?.drain_ms ?? defaultDaemonSettings.drain_ms) + closingMs;
  const ended = async (): Promise<boolean> => {
    for (const end = Date.now() + patience; Date.now() < end; await sleep(lookEveryMs)) {
      if (!isAlive(holder)) return true;
    }
    return false;
  };
  const work = ended();
  if (await whileWaiting("Waiting for the daemon's sessions to end …", { terminal: call.terminal, work })) {
    if (now && view.record !== null) await noteKill(stateDir, view.record);
    return pid;
  }
  throw new BulkheadError("timeout", `The daemon, process ${pid}, has not ended after ${patience} ms.`, {
    hint: 'Kill it with "bulkhead stop --now".',
  });
}

/** Keeps in the record that a person killed the daemon: else it would seem to have crashed. */
async function noteKill(stateDir: string, record: DaemonRecord): Promise<void> {
  const { record: file } = daemonFiles(stateDir);
  const left = await readDaemonRecord(file);
  if (left === null || left === "broken" || left.pid !== record.pid) return;
  await writeDaemonRecord(file, { ...record, killed_at: new Date().toISOString() });
}

/** Its pid means nothing here. */
export function outOfReach(act: string, { reason, pid }: DaemonView): BulkheadError {
  return new BulkheadError("busy", `Cannot ${act}: ${reason.charAt(0).toLowerCase()}${reason.slice(1)}`, {
    hint: "Stop it there, or name another folder with --state-dir.",
    details: { pid },
  });
}

/** A killed daemon may have left the lock, and another program may have its pid now. */
function uncertain(pid: number): BulkheadError {
  return new BulkheadError(
    "unavailable",
    `Cannot stop the daemon: process ${pid} does not answer, and nothing tells whether it is the daemon.`,
    { hint: `Look with "ps -p ${pid}"; if it is, end it with "kill ${pid}".`, details: { pid } },
  );
}
