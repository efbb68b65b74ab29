import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { undamaged } from "./damage.ts";
import { gapOf, gapOfLost, type LostRange, type Tombstone } from "./gap.ts";
import type { JournalLimits } from "./journal-limits.ts";
import { envelopesAfter, type JournalRow } from "./journal-row.ts";
import type { Journal, ReadOptions } from "./journal.ts";

/** Columns of a row that a page needs. */
export type PageRow = Pick<JournalRow, "last_gseq" | "body">;

/** Range of tombstones: sessions whose last event came after one `gseq` and not after another. */
export interface TombstoneRange {
  after: number;
  upTo: number;
  sessionId: string | undefined;
  limit: number;
}

interface PageSource {
  /** Finds the first row that ends after a cursor, of one session or of all. */
  findRow(after: number, sessionId: string | undefined): PageRow | undefined;
  /** Tombstones of a range, in order. */
  findTombstones(range: TombstoneRange): Tombstone[];
  /** Lost events of a range, in order. */
  findLost(range: TombstoneRange): LostRange[];
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
  const range = { after: options.after, upTo: Math.min(upTo, Number.MAX_SAFE_INTEGER), sessionId, limit };
  const tombstones = source.findTombstones(range);
  const gone = new Set(tombstones.map(({ session_id }) => session_id));
  const rest = gone.size === 0 ? page : page.filter(({ session_id }) => !gone.has(session_id));
  const gaps = [
    ...tombstones.map(gapOf),
    ...source.findLost(range).filter(({ session_id }) => !gone.has(session_id)).map(gapOfLost),
  ];
  const merged = gaps.length === 0 ? rest : withGaps(rest, gaps.sort((one, other) => one.gseq - other.gseq));
  return merged.length > limit ? merged.slice(0, limit) : merged;
}

function envelopesOf(
  { body }: PageRow,
  { after, skipDamaged }: { after: number; skipDamaged: boolean },
): readonly Envelope[] {
  try {
    return undamaged("a batch of events", () => envelopesAfter(body, after));
  } catch (error) {
    if (skipDamaged) return [];
    throw error;
  }
}

/** Merges both in order. */
function withGaps(rest: readonly Envelope[], gaps: readonly Envelope[]): Envelope[] {
  const merged: Envelope[] = [];
  let at = 0;
  for (const gap of gaps) {
    for (; at < rest.length && rest[at]!.gseq < gap.gseq; at++) merged.push(rest[at]!);
    merged.push(gap);
  }
  return [...merged, ...rest.slice(at)];
}

/** Reads a session's envelopes from the first on, in order, a page at a time; on request without what is damaged. */
export async function* sessionPages(
  journal: Pick<Journal, "read">,
  sessionId: string,
  { skipDamaged = false }: { skipDamaged?: boolean } = {},
): AsyncGenerator<Envelope[], void, void> {
  for (let after = 0;;) {
    const page = await journal.read({ after, sessionId, skipDamaged });
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    after = last.gseq;
  }
}
