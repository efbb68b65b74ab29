import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { type HeldLock, takeLock } from "../../ground/platform/state/lock-file.ts";
import { holderText, isAlive, type LockHolder, placeOf } from "../../ground/platform/state/lock-holder.ts";
import type { DaemonFiles } from "./daemon-files.ts";
import { type DaemonRecord, readDaemonRecord, removeDaemonRecord } from "./daemon-record.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";
import { rm } from "../../ground/platform/files/files.ts";

/**
 * Makes this process the only daemon of its state folder.
 * @throws {BulkheadError} `busy`, naming the process that holds the lock, and its container or machine; `io_error`
 */
export async function takeDaemonLock(files: DaemonFiles): Promise<HeldLock> {
  const taken = await takeLock(files.lock);
  if ("release" in taken) return taken;
  throw await heldBy(taken.holder, files);
}

async function heldBy(holder: LockHolder | null, { lock, record }: DaemonFiles): Promise<BulkheadError> {
  const known = await readDaemonRecord(record);
  const isElsewhere = holder !== null && placeOf(holder) !== "here";
  const address = !isElsewhere && known !== null && known !== "broken" && known.pid === holder?.pid
    ? known.address
    : null;
  const where = address === null ? "" : ` at ${address}`;
  const stop = isElsewhere ? "Stop it there" : 'Stop it with "bulkhead stop"';
  return new BulkheadError(
    "busy",
    `Cannot start the daemon: ${holderText(holder)} is the daemon of this state folder already${where}.`,
    {
      hint: `${stop}, or name another folder with --state-dir.`,
      details: { pid: holder?.pid ?? null, host: holder?.host ?? null, address, lock },
    },
  );
}

/**
 * Removes the files that an earlier daemon left; only the daemon that has lock and socket may.
 * @param holder that left the lock; null where it was released
 * @returns how that daemon ended; null where it ended in order
 */
export async function removeLeftRecord(files: DaemonFiles, holder: LockHolder | null): Promise<LogRecord | null> {
  const left = await readDaemonRecord(files.record);
  await removeDaemonRecord(files.record);
  await rm(files.notices, { force: true });
  return left === "broken" || left === null ? null : leftBehind(left, holder);
}

/** Says how a daemon ended that has left its record. */
function leftBehind({ pid, start }: DaemonRecord, holder: LockHolder | null): LogRecord {
  const known = holder?.pid === pid ? holder : { pid, start };
  const who = `The previous daemon, ${holderText(known)},`;
  const message = placeOf(known) !== "here"
    ? `${who} ended without a shutdown; its sessions are ended now.`
    : known.start !== null && isAlive(known)
    ? `This state folder is a copy: ${holderText(known)} works in another one. Its sessions end in this copy alone.`
    : `${who} was killed; its sessions and programs are ended now.`;
  return { level: "warn", message };
}
