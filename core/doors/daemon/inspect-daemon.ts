import { demandOwnState } from "../../sessions/host/state-folder.ts";
import { isAlive, readLockFile } from "../../ground/runtime/lock-file.ts";
import { processStart } from "../../ground/runtime/process-rows.ts";
import { daemonFiles } from "./daemon-files.ts";
import { type DaemonRecord, readDaemonRecord } from "./daemon-record.ts";
import { realpath } from "../../ground/runtime/files.ts";

/**
 * State of a daemon, found without asking it.
 * - `stopped`: none runs, and the last one ended in order;
 * - `starting`: it holds the lock and has not published its address yet;
 * - `running`: it holds the lock and has published its address;
 * - `killed`: its process is gone without a shutdown; the next start cleans up;
 * - `stale`: its record cannot be read, or its pid is another program's now; the next start cleans up.
 */
type DaemonState = "stopped" | "starting" | "running" | "killed" | "stale";

/** A daemon as its files describe it. */
export interface DaemonView {
  state: DaemonState;
  /** The cause of the state, in a sentence. */
  reason: string;
  /** Pid of the process that is or was the daemon. */
  pid: number | null;
  /** Whether that pid is surely the daemon's; where its start is unknown, another process may have the pid by now. */
  certain: boolean;
  record: DaemonRecord | null;
}

/**
 * Reads from a state folder's files what they say about its daemon. Changes nothing.
 * @throws {BulkheadError} `io_error` where other users could have written them
 */
export async function inspectDaemon(stateDir: string): Promise<DaemonView> {
  await demandOwnState(stateDir);
  const files = daemonFiles(await realpath(stateDir).catch(() => stateDir));
  const [holder, found] = await Promise.all([readLockFile(files.lock), readDaemonRecord(files.record)]);
  const record = found === "broken" ? null : found;
  if (holder !== null && isAlive(holder)) {
    const certain = holder.start !== null && holder.start === processStart(holder.pid);
    return { ...living(holder.pid, record), certain };
  }
  const left = record ?? holder;
  if (left !== null) {
    const reused = isAlive({ pid: left.pid, start: null });
    const state = reused ? "stale" : "killed";
    const reason = reused
      ? `The state file is stale: process ${left.pid} is another program now.`
      : `Process ${left.pid} is gone without having stopped the daemon: it was killed.`;
    return { state, reason, pid: left.pid, certain: false, record };
  }
  if (found === "broken") {
    return {
      state: "stale",
      reason: `The state file ${files.record} cannot be read.`,
      pid: null,
      certain: false,
      record,
    };
  }
  return { state: "stopped", reason: "No daemon runs on this state folder.", pid: null, certain: false, record };
}

function living(pid: number, record: DaemonRecord | null): Omit<DaemonView, "certain"> {
  if (record?.pid === pid) {
    return { state: "running", reason: `Process ${pid} is the daemon, at ${record.address}.`, pid, record };
  }
  return { state: "starting", reason: `Process ${pid} holds the lock and does not listen yet.`, pid, record: null };
}
