import { toErrorData } from "../../../ground/errors/to-error-data.ts";
import type { LogRecord } from "../../../ground/log/log-record.ts";
import { startBackgroundTimer } from "../../../ground/platform/engine/background-timer.ts";

/** Delay of the first look after a host's start, and interval of the later ones. Milliseconds. */
const firstMs = 1000;
const everyMs = 600_000;

/** A store beside the journal. */
interface SweptStore {
  /** Removes what belongs to sessions that are gone. */
  sweep(isKept: (sessionId: string) => Promise<boolean>): Promise<void>;
}

interface SweepOptions {
  /** Whether the events of a session are there, here or at another host of the state folder. */
  isKept(sessionId: string): Promise<boolean>;
  writeLog(record: LogRecord): void;
}

/**
 * Removes attachments and recorded calls that nothing holds while a host runs.
 * @returns stops it
 */
export function sweepStores(stores: readonly SweptStore[], { isKept, writeLog }: SweepOptions): () => void {
  let isOver = false;
  let cancel = plan(firstMs);
  return () => {
    isOver = true;
    cancel();
  };

  function plan(ms: number): () => void {
    return startBackgroundTimer(() => {
      void Promise.all(stores.map((store) => store.sweep(isKept))).catch((error: unknown) => {
        if (isOver) return;
        writeLog({
          level: "error",
          message: `Cannot remove what belongs to deleted sessions: ${toErrorData(error).message}`,
        });
      }).finally(() => {
        if (!isOver) cancel = plan(everyMs);
      });
    }, ms);
  }
}
