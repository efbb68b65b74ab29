import { hmacSha256Hex, sha256HexOf } from "../../ground/platform/files/hash.ts";
import type { JournalRow } from "./journal-row.ts";

/**
 * The chain makes changes of the journal detectable: each batch is a link, numbered from 1, whose code is an
 * HMAC-SHA-256 over the code of the link before, its own content, and a digest of the batch. The deletion of a session
 * is a link as well; the batches that it erases leave their links behind without their text.
 */

/** A place in the chain: the number of a link and its code. */
export interface ChainPlace {
  number: number;
  /** Hex. */
  mac: string;
}

/** Kind of a link: a batch of events, or the deletion of a session. */
type LinkKind = "batch" | "deleted";

/** Content that a link's code vouches for. */
export interface LinkContent {
  kind: LinkKind;
  session_id: string;
  /** Number of the batch's last event, or of the deleted session's last one. */
  gseq: number;
  /** Hex SHA-256. */
  digest: string;
}

/** Start of every chain. */
export const chainOrigin: ChainPlace = { number: 0, mac: "0".repeat(64) };

/** The place of the link after another. */
export function nextPlace(key: Uint8Array, before: ChainPlace, content: LinkContent): ChainPlace {
  const number = before.number + 1;
  const { kind, session_id, gseq, digest } = content;
  return { number, mac: hmacSha256Hex(key, JSON.stringify([before.mac, number, kind, session_id, gseq, digest])) };
}

/** Link content of a batch. */
export function linkOfRow(
  row: Omit<JournalRow, "opening" | "adapter_id" | "turn" | "ending" | "spent" | "facts">,
): LinkContent {
  const { session_id, first_seq, last_seq, first_gseq, last_gseq, count, body } = row;
  const digest = sha256HexOf(`${first_seq} ${last_seq} ${first_gseq} ${last_gseq} ${count}\n`, body);
  return { kind: "batch", session_id, gseq: last_gseq, digest };
}

/** Link content of a deletion. */
export function linkOfDeletion({ session_id, gseq }: Pick<LinkContent, "session_id" | "gseq">): LinkContent {
  return { kind: "deleted", session_id, gseq, digest: sha256HexOf("deleted") };
}

/** End of the part that was removed from a chain because nothing of it was left; the host vouches for it. */
export interface ChainBase extends ChainPlace {
  /** The highest number of an event up to this place. */
  gseq: number;
  seal: string;
}

/** Signs a base with the host's key. */
export function sealBase(key: Uint8Array, { number, mac, gseq }: Omit<ChainBase, "seal">): ChainBase {
  return { number, mac, gseq, seal: hmacSha256Hex(key, JSON.stringify(["base", number, mac, gseq])) };
}

/** Links that were lost with a damaged file, from the first to the last; the host vouches for that. */
export interface LostLinks {
  first: number;
  last: number;
  /** The last one's code, where the chain's head told it; null where a link follows. */
  mac: string | null;
}

/**
 * Signs a loss with the host's key.
 * @param next the link after it, which no code before it vouches for; null at the chain's end
 */
export function sealLoss(
  key: Uint8Array,
  lost: LostLinks,
  next: (LinkContent & { mac: string | null }) | null,
): string {
  const { first, last, mac } = lost;
  const after = next === null ? null : [next.kind, next.session_id, next.gseq, next.digest, next.mac];
  return hmacSha256Hex(key, JSON.stringify(["lost", first, last, mac, mac === null ? after : null]));
}

/** Numbers that a journal has given out, and the head of its chain. */
export interface Numbers extends ChainPlace {
  last_gseq: number;
}

/** Numbers in a row. */
export interface NumberRun {
  from: number;
  to: number;
}
