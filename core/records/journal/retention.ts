import { defaultJournalBytes } from "../../ground/config/journal-size.ts";
import type { Journal } from "./journal.ts";
import type { SessionRecord } from "./session-record.ts";

/** Limits on a journal's ended sessions. */
export interface RetentionLimits {
  /** Age of an ended session, after which it is removed. */
  keep_ms: number;
  /** Bytes that the journal may fill; beyond them it removes the sessions that ended first. */
  max_bytes: number;
}

/** Default retention: 30 days, 1 GiB. */
export const defaultRetention: RetentionLimits = { keep_ms: 30 * 24 * 3_600_000, max_bytes: defaultJournalBytes };

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

interface PluginShares {
  /** The session to remove next, which no longer counts from then on; null where none may go. */
  take(): string | null;
}

interface Use {
  bytes: number;
  /** Its ended sessions, the latest end first. */
  ended: { id: string; bytes: number; last_gseq: number }[];
}

/** Sessions listed at once. */
const pageSize = 200;

/**
 * Measures the use of each plugin's sessions. Each plugin may use the same share of the journal; plugins beyond it, the
 * largest first, lose the sessions that ended first. The other plugins keep theirs, even while a running session keeps
 * the journal over its size.
 */
async function measureShares(
  journal: Pick<Journal, "bytesOf" | "sessions">,
  { maxBytes, signal }: { maxBytes: number; signal: AbortSignal | undefined },
): Promise<PluginShares> {
  const uses = new Map<string, Use>();
  let before: SessionRecord | undefined;
  do {
    const page = await journal.sessions({ limit: pageSize, before });
    for (const { session_id: id, adapter_id, state, last_gseq } of page) {
      if (signal?.aborted) break;
      const use = uses.get(adapter_id ?? "") ?? { bytes: 0, ended: [] };
      uses.set(adapter_id ?? "", use);
      const bytes = await journal.bytesOf(id);
      use.bytes += bytes;
      if (state === "ended") use.ended.push({ id, bytes, last_gseq });
    }
    before = page.at(-1);
  } while (before !== undefined && !signal?.aborted);
  for (const { ended } of uses.values()) ended.sort((one, other) => other.last_gseq - one.last_gseq);
  const share = maxBytes / uses.size;
  return {
    take() {
      const largest = [...uses.values()].sort((one, other) => other.bytes - one.bytes);
      const beyond = largest.filter(({ bytes }) => bytes > share);
      // The journal's own tables need space as well, so it may be too large with no plugin beyond its share.
      const from = (beyond.length > 0 ? beyond : largest).find(({ ended }) => ended.length > 0);
      const session = from?.ended.pop();
      if (from === undefined || session === undefined) return null;
      from.bytes -= session.bytes;
      return session.id;
    },
  };
}
