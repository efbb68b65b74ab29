import { demandOwnState } from "../../sessions/host/state/state-folder.ts";
import { findHolder } from "../../ground/platform/state/lock-file.ts";
import { holderText, isAlive, type LockHolder, placeOf } from "../../ground/platform/state/lock-holder.ts";
import { processStart } from "../../ground/platform/processes/process-rows.ts";
import { daemonFiles } from "./daemon-files.ts";
import { type DaemonRecord, readDaemonRecord } from "./daemon-record.ts";
import { realpath } from "../../ground/platform/files/files.ts";

/**
 * State of a daemon, found without asking it.
 * - `stopped`: none runs, and the last one ended in order;
 * - `starting`: it holds the lock and has not published its address yet;
 * - `running`: it holds the lock and has published its address;
 * - `elsewhere`: it runs in another container or on another machine, out of reach from here;
 * - `killed`: its process is gone without a shutdown; the next start cleans up;
 * - `stale`: its record cannot be read, or names a process that is not the daemon of this folder; the next start cleans up.
 */
type DaemonState = "stopped" | "starting" | "running" | "elsewhere" | "killed" | "stale";

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
  const [lock, found] = await Promise.all([findHolder(files.lock), readDaemonRecord(files.record)]);
  const record = found === "broken" ? null : found;
  if (lock?.holds) return living(lock.holder, record);
  const left = record ?? lock?.holder ?? null;
  if (left !== null) {
    const isHere = lock === null || placeOf(lock.holder) === "here";
    const reused = isHere && isAlive({ pid: left.pid, start: null });
    const state = reused ? "stale" : "killed";
    const reason = reused
      ? `The state file is stale: process ${left.pid} is not the daemon of this folder.`
      : record?.killed_at !== undefined
      ? `Process ${left.pid} was killed by "bulkhead stop --now".`
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

/** Describes a daemon that runs. A record may leave open when its process began: then another one may have its pid. */
function living(holder: LockHolder, known: DaemonRecord | null): DaemonView {
  const { pid } = holder;
  if (placeOf(holder) !== "here") {
    const reason = `The daemon of this state folder is ${holderText(holder)}.`;
    return { state: "elsewhere", reason, pid, certain: false, record: null };
  }
  const isKnown = typeof holder.system === "string";
  const certain = isKnown || (holder.start !== null && holder.start === processStart(pid));
  const record = known?.pid === pid ? known : null;
  if (record !== null) {
    return { state: "running", reason: `Process ${pid} is the daemon, at ${record.address}.`, pid, certain, record };
  }
  const reason = `Process ${pid} holds the lock and does not listen yet.`;
  return { state: "starting", reason, pid, certain, record };
}
