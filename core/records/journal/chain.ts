import { hmacSha256Hex, sha256HexOf } from "../../ground/runtime/hash.ts";
import type { JournalRow } from "./journal-row.ts";

/**
 * The chain that makes a change of the journal show: each batch is a link, numbered from 1, whose code is an
 * HMAC-SHA-256 over the code of the link before, what it says, and a digest of the batch. The deletion of a session is a
 * link as well, and what it erases leaves its links behind without their text.
 */

/** A place in the chain: the number of a link and its code. */
export interface ChainPlace {
  number: number;
  /** Hex. */
  mac: string;
}

/** What a link is of: a batch of events, or the deletion of a session. */
export type LinkKind = "batch" | "deleted";

/** What a link's code vouches for. */
export interface LinkContent {
  kind: LinkKind;
  session_id: string;
  /** Of the batch's last event; of the deleted session's last one. */
  gseq: number;
  /** Hex SHA-256. */
  digest: string;
}

/** Where every chain begins. */
export const chainOrigin: ChainPlace = { number: 0, mac: "0".repeat(64) };

/** The place of a link that follows another. */
export function nextPlace(key: Uint8Array, before: ChainPlace, content: LinkContent): ChainPlace {
  const number = before.number + 1;
  const { kind, session_id, gseq, digest } = content;
  return { number, mac: hmacSha256Hex(key, JSON.stringify([before.mac, number, kind, session_id, gseq, digest])) };
}

/** What the link of a batch vouches for. */
export function linkOfRow(row: Omit<JournalRow, "opening" | "adapter_id" | "ending" | "facts">): LinkContent {
  const { session_id, first_seq, last_seq, first_gseq, last_gseq, count, body } = row;
  const digest = sha256HexOf(`${first_seq} ${last_seq} ${first_gseq} ${last_gseq} ${count}\n`, body);
  return { kind: "batch", session_id, gseq: last_gseq, digest };
}

/** What the link of a deletion vouches for. */
export function linkOfDeletion({ session_id, gseq }: Pick<LinkContent, "session_id" | "gseq">): LinkContent {
  return { kind: "deleted", session_id, gseq, digest: sha256HexOf("deleted") };
}

/** Up to where a chain was taken away because nothing of it was left, as the host vouches for it. */
export interface ChainBase extends ChainPlace {
  /** The highest number of an event up to there. */
  gseq: number;
  seal: string;
}

/** A base with the host's word for it. */
export function sealBase(key: Uint8Array, { number, mac, gseq }: Omit<ChainBase, "seal">): ChainBase {
  return { number, mac, gseq, seal: hmacSha256Hex(key, JSON.stringify(["base", number, mac, gseq])) };
}
