import { toErrorData } from "../../../ground/errors/to-error-data.ts";
import type { Journal } from "../../../records/journal/journal.ts";
import { applyRetention, type RetentionLimits } from "../../../records/journal/retention.ts";
import { startBackgroundTimer } from "../../../ground/platform/engine/background-timer.ts";
import type { LogRecord } from "../../../ground/log/log-record.ts";

/** Interval at which a host checks whether its journal has outgrown its limits. Milliseconds. */
const everyMs = 60_000;

interface KeepJournalOptions {
  /** Returns the current limits: a reload changes them. */
  limits(): RetentionLimits;
  writeLog(record: LogRecord): void;
  /** Called after sessions were removed. */
  onRemoved(): void;
  /** Delay of the first check after the start, and interval of the later ones. Milliseconds. */
  firstMs?: number;
  everyMs?: number;
}

/**
 * Keeps a journal within its age and size while its host runs.
 * @returns a function that stops it; it resolves when no deletion is running any more
 */
export function keepJournal(journal: Journal, options: KeepJournalOptions): () => Promise<void> {
  const { writeLog } = options;
  const stopping = new AbortController();
  let working: Promise<void> = Promise.resolve();
  let cancel = plan(options.firstMs ?? 1000);
  return async () => {
    stopping.abort();
    cancel();
    await working;
  };

  function plan(ms: number): () => void {
    return startBackgroundTimer(() => {
      working = work().then(() => {
        if (!stopping.signal.aborted) cancel = plan(options.everyMs ?? everyMs);
      });
    }, ms);
  }

  async function work(): Promise<void> {
    try {
      const removed = await applyRetention(journal, { limits: options.limits(), signal: stopping.signal });
      if (removed > 0) {
        options.onRemoved();
        writeLog({
          level: "info",
          message: `Removed ${removed} session${removed === 1 ? "" : "s"} past their age or size.`,
        });
      }
    } catch (error) {
      writeLog({ level: "error", message: `Cannot remove old sessions: ${toErrorData(error).message}` });
    }
  }
}
