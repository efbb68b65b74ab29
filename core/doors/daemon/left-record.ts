import type { LogRecord } from "../../ground/log/log-record.ts";
import { rm } from "../../ground/runtime/files.ts";
import { holderText, isAlive, type LockHolder, placeOf } from "../../ground/runtime/lock-holder.ts";
import type { DaemonFiles } from "./daemon-files.ts";
import { type DaemonRecord, readDaemonRecord, removeDaemonRecord } from "./daemon-record.ts";

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
