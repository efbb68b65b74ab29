import { defaultJournalBytes } from "../../ground/config/journal-size.ts";
import type { Journal } from "./journal.ts";
import { measureShares } from "./plugin-shares.ts";

/** Limits on a journal's ended sessions. */
export interface RetentionLimits {
  /** Age of an ended session, after which it is removed. */
  keep_ms: number;
  /** Bytes that the journal may fill; beyond them it removes the sessions that ended first. */
  max_bytes: number;
}

/** Default retention: 30 days, 1 GiB. */
export const defaultRetention: RetentionLimits = { keep_ms: 30 * 24 * 3_600_000, max_bytes: defaultJournalBytes };

/** Options of {@link applyRetention}. */
interface RetentionOptions {
  limits: RetentionLimits;
  /** Stops between two sessions. */
  signal?: AbortSignal;
  /** Milliseconds since 1970. */
  now?: number;
}

/**
 * Removes whole sessions, those that ended first, until the rest is within age and size; never removes a running one.
 * Takes size from the plugins that use more than their share, so that none can remove the history of another. Works in
 * small steps and yields between them, and resumes deletions that were cut short.
 * @returns how many were removed
 * @throws {BulkheadError} `journal_error`
 */
export async function applyRetention(
  journal: Pick<Journal, "bytesOf" | "delete" | "oldestEnded" | "sessions" | "sweep" | "usedBytes">,
  { limits, signal, now = Date.now() }: RetentionOptions,
): Promise<number> {
  await journal.sweep();
  let removed = 0;
  for (;; removed++) {
    const oldest = signal?.aborted ? null : await journal.oldestEnded();
    if (oldest === null) return removed;
    if (now - Date.parse(oldest.ended_at ?? oldest.started_at) <= limits.keep_ms) break;
    if (!(await journal.delete(oldest.session_id, "retention"))) return removed;
  }
  if (await journal.usedBytes() <= limits.max_bytes) return removed;
  const shares = await measureShares(journal, { maxBytes: limits.max_bytes, signal });
  for (;; removed++) {
    if (signal?.aborted || await journal.usedBytes() <= limits.max_bytes) return removed;
    const next = shares.take();
    if (next === null || !(await journal.delete(next, "retention"))) return removed;
  }
}
