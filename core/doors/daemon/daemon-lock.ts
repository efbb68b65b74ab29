import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { type HeldLock, takeLock } from "../../ground/runtime/lock-file.ts";
import { holderText, type LockHolder, placeOf } from "../../ground/runtime/lock-holder.ts";
import type { DaemonFiles } from "./daemon-files.ts";
import { readDaemonRecord } from "./daemon-record.ts";

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
