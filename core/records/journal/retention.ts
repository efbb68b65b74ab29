import { defaultJournalBytes } from "../../ground/config/journal-size.ts";
import type { Journal } from "./journal.ts";
import { measureShares } from "./plugin-shares.ts";

/** How much of what has ended a journal keeps. */
export interface RetentionLimits {
  /** A session that ended longer ago is removed. */
  keep_ms: number;
  /** Bytes that the journal may fill; beyond them the sessions that ended first are removed. */
  max_bytes: number;
}

/** What a host keeps where its manifest does not say: 30 days, 1 GiB. */
export const defaultRetention: RetentionLimits = { keep_ms: 30 * 24 * 3_600_000, max_bytes: defaultJournalBytes };

/** What {@link applyRetention} does it with. */
export interface RetentionOptions {
  limits: RetentionLimits;
  /** Stops between two sessions. */
  signal?: AbortSignal;
  /** Milliseconds since 1970. */
  now?: number;
}

/**
 * Removes whole sessions, those that ended first, until the rest is within age and size; one that runs is never removed.
 * Size is taken from the plugins that use more than their share, so that none can remove the history of another.
 * Works in small steps, between which everybody else has their turn, and goes on with deletions that were cut short.
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
