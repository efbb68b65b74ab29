import type { Envelope } from "../../plugin-sdk/envelope.ts";
import type { JournalLimits } from "./journal-limits.ts";
import { envelopesAfter, type JournalRow } from "./journal-row.ts";
import type { ReadOptions } from "./journal.ts";

/** What a page takes of a row. */
export type PageRow = Pick<JournalRow, "last_gseq" | "body">;

/** Where pages come from. */
export interface PageSource {
  /** Finds the first row that ends after a cursor, of one session or of all. */
  findRow(after: number, sessionId: string | undefined): PageRow | undefined;
  limits: JournalLimits;
}

/** Puts together one page from as many rows as it takes. */
export function readPage(options: ReadOptions, source: PageSource): Envelope[] {
  const { limit = source.limits.page_events, sessionId } = options;
  const page: Envelope[] = [];
  let { after } = options;
  let bytes = 0;
  while (page.length < limit && bytes < source.limits.page_bytes) {
    const row = source.findRow(after, sessionId);
    if (row === undefined) break;
    for (const envelope of envelopesAfter(row.body, after)) page.push(envelope);
    bytes += row.body.length;
    after = row.last_gseq;
  }
  return page.length > limit ? page.slice(0, limit) : page;
}
