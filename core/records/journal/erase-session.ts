import { chainOrigin, type ChainPlace, linkOfDeletion, nextPlace, sealBase, sealLoss } from "./chain.ts";
import { type BareLink, bareLinkOf, type ChainTable, contentOf } from "./chain-table.ts";
import type { JournalStatements } from "./journal-statements.ts";
import type { DeletedBy } from "./session-record.ts";

/** Tables that these functions change, within their caller's transaction. */
type ErasingTables = Pick<JournalStatements, "sessions" | "chain" | "keys" | "history" | "spend" | "lost">;

/** Links folded in one transaction. */
const foldedInOneGo = 100;

/**
 * Replaces a session with a tombstone, and the deletion in the chain, which alone allows its batches to be
 * missing.
 * @returns the chain's new head, or null where there is no such session that has ended, or with `leftOpen` none at all
 */
export function burySession(
  { sessions, chain, keys, history, spend, lost }: ErasingTables,
  { sessionId, by, key, leftOpen = false }: { sessionId: string; by: DeletedBy; key: Uint8Array; leftOpen?: boolean },
): ChainPlace | null {
  if (!sessions.bury(sessionId, { at: new Date().toISOString(), by, leftOpen })) return null;
  keys.forget(sessionId);
  history.forget(sessionId);
  spend.forget(sessionId);
  lost.forget(sessionId);
  const head = chain.head();
  const content = linkOfDeletion({ session_id: sessionId, gseq: sessions.get(sessionId)?.last_gseq ?? 0 });
  const place = nextPlace(key, head, content);
  chain.insert({ ...place, ...content, kind: "deleted" });
  chain.moveHead(head, place);
  return place;
}

/**
 * Erases some of a session's batches and keeps their links.
 * @returns how many
 */
export function eraseBatches({ chain }: ErasingTables, sessionId: string, limit: number): number {
  const rows = chain.rowsOf(sessionId, limit);
  for (const row of rows) {
    // A batch that was never chained leaves no link.
    if (row.number !== null) chain.insert(bareLinkOf(row));
    chain.eraseRow.run(row.last_gseq);
  }
  return rows.length;
}

/**
 * Removes links from the beginning of the chain that vouch for nothing any more, and seals its new beginning. Links
 * that do not fit stay as evidence for a verification of the journal.
 * @returns true when there may be more to do
 */
export function foldChain({ chain }: ErasingTables, key: Uint8Array): boolean {
  const links = chain.bareAfter(chain.base()?.number ?? 0, foldedInOneGo);
  const first = chain.firstNumber();
  let { number, mac, gseq } = chain.base() ?? { ...chainOrigin, gseq: 0 };
  const from = number;
  for (const link of links) {
    if (first !== null && link.number >= first) break;
    if (!follows(link, { place: { number, mac }, chain, key })) break;
    if (link.kind === "erased" && !chain.isDeleted(link.session_id)) break;
    ({ number, mac } = link);
    gseq = Math.max(gseq, link.gseq);
  }
  if (number === from) return false;
  chain.setBase(sealBase(key, { number, mac, gseq }));
  chain.dropUpTo(number);
  return links.length === foldedInOneGo && number === links.at(-1)?.number;
}

/** Whether a link is the next one of the chain, or the next one that a damaged file has left. */
function follows(
  link: BareLink,
  { place, chain, key }: { place: ChainPlace; chain: ChainTable; key: Uint8Array },
): boolean {
  const content = contentOf(link);
  if (link.number === place.number + 1) return nextPlace(key, place, content).mac === link.mac;
  const lost = chain.lostFrom(place.number + 1);
  if (lost?.last !== link.number - 1 || sealLoss(key, lost, { ...content, mac: link.mac }) !== lost.seal) return false;
  const before = { number: lost.last, mac: lost.mac ?? "" };
  return lost.mac === null || nextPlace(key, before, content).mac === link.mac;
}
