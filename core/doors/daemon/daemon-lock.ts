import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { readLockFile, takeLockFile } from "../../ground/runtime/lock-file.ts";
import type { DaemonFiles } from "./daemon-files.ts";
import { readDaemonRecord } from "./daemon-record.ts";

/**
 * Makes this process the only daemon of its state folder. Resolves with a function that releases the lock.
 * @throws {BulkheadError} `busy`, naming the process that holds the lock
 */
export async function takeDaemonLock({ lock, record }: DaemonFiles): Promise<() => Promise<void>> {
  const release = await takeLockFile(lock);
  if (release !== null) return release;
  const holder = await readLockFile(lock);
  const known = await readDaemonRecord(record);
  const address = known !== null && known !== "broken" && known.pid === holder?.pid ? known.address : null;
  const who = holder === null ? "another process" : `process ${holder.pid}`;
  const where = address === null ? "" : ` at ${address}`;
  throw new BulkheadError(
    "busy",
    `Cannot start the daemon: ${who} is the daemon of this state folder already${where}.`,
    {
      hint: 'Stop it with "bulkhead stop", or name another folder with --state-dir.',
      details: { pid: holder?.pid ?? null, address, lock },
    },
  );
}
