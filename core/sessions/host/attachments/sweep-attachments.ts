import { toErrorData } from "../../../ground/errors/to-error-data.ts";
import type { LogRecord } from "../../../ground/log/log-record.ts";
import { startBackgroundTimer } from "../../../ground/platform/engine/background-timer.ts";
import type { AttachmentStore } from "./attachment-store.ts";

/** Delay of the first look after a host's start, and interval of the later ones. Milliseconds. */
const firstMs = 1000;
const everyMs = 600_000;

interface SweepOptions {
  /** Whether the events of a session are there, here or at another host of the state folder. */
  isKept(sessionId: string): Promise<boolean>;
  writeLog(record: LogRecord): void;
}

/**
 * Removes attachments that nothing holds while a host runs.
 * @returns stops it
 */
export function sweepAttachments(store: AttachmentStore, { isKept, writeLog }: SweepOptions): () => void {
  let isOver = false;
  let cancel = plan(firstMs);
  return () => {
    isOver = true;
    cancel();
  };

  function plan(ms: number): () => void {
    return startBackgroundTimer(() => {
      void store.sweep(isKept).catch((error: unknown) => {
        if (isOver) return;
        writeLog({ level: "error", message: `Cannot remove old attachments: ${toErrorData(error).message}` });
      }).finally(() => {
        if (!isOver) cancel = plan(everyMs);
      });
    }, ms);
  }
}
