import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { gapOf, type Tombstone } from "./gap.ts";
import type { JournalLimits } from "./journal-limits.ts";
import { envelopesAfter, type JournalRow } from "./journal-row.ts";
import type { ReadOptions } from "./journal.ts";

/** Columns of a row that a page needs. */
export type PageRow = Pick<JournalRow, "last_gseq" | "body">;

/** Range of tombstones: sessions whose last event came after one `gseq` and not after another. */
export interface TombstoneRange {
  after: number;
  upTo: number;
  sessionId: string | undefined;
  limit: number;
}

/** Source of pages. */
interface PageSource {
  /** Finds the first row that ends after a cursor, of one session or of all. */
  findRow(after: number, sessionId: string | undefined): PageRow | undefined;
  /** Tombstones of a range, in order. */
  findTombstones(range: TombstoneRange): Tombstone[];
  limits: JournalLimits;
}

/** Assembles one page from as many rows as it takes. */
export function readPage(options: ReadOptions, source: PageSource): Envelope[] {
  const { limit = source.limits.page_events, sessionId, skipDamaged = false } = options;
  const page: Envelope[] = [];
  let { after } = options;
  let bytes = 0;
  let upTo = Infinity;
  while (page.length < limit && bytes < source.limits.page_bytes) {
    const row = source.findRow(after, sessionId);
    if (row === undefined) break;
    for (const envelope of envelopesOf(row, { after, skipDamaged })) page.push(envelope);
    bytes += row.body.length;
    after = row.last_gseq;
    if (page.length >= limit || bytes >= source.limits.page_bytes) upTo = after;
  }
  const gaps = source.findTombstones({
    after: options.after,
    upTo: Math.min(upTo, Number.MAX_SAFE_INTEGER),
    sessionId,
    limit,
  });
  const merged = gaps.length === 0 ? page : withGaps(page, gaps.map(gapOf));
  return merged.length > limit ? merged.slice(0, limit) : merged;
}

function envelopesOf(
  { body }: PageRow,
  { after, skipDamaged }: { after: number; skipDamaged: boolean },
): readonly Envelope[] {
  try {
    return envelopesAfter(body, after);
  } catch (error) {
    if (skipDamaged) return [];
    throw error;
  }
}

/** Merges both in order. A gap replaces the rest of its deleted session. */
function withGaps(page: readonly Envelope[], gaps: readonly Envelope[]): Envelope[] {
  const gone = new Set(gaps.map(({ session_id }) => session_id));
  const rest = page.filter(({ session_id }) => !gone.has(session_id));
  const merged: Envelope[] = [];
  let at = 0;
  for (const gap of gaps) {
    for (; at < rest.length && rest[at]!.gseq < gap.gseq; at++) merged.push(rest[at]!);
    merged.push(gap);
  }
  return [...merged, ...rest.slice(at)];
}
