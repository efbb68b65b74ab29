import { joinBytes } from "../../ground/runtime/join-bytes.ts";

/** The first piece may begin with a byte order mark, which is no text. */
const beginning = new TextDecoder();
const following = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Decodes UTF-8 that comes in pieces, as a `TextDecoder` with `stream: true` does. Agents print
 * mostly plain ASCII, for which that one takes three to seven times as long as one that decodes each piece by itself. So this
 * one does the latter, and keeps back a character that a piece breaks off.
 */
export class PieceDecoder {
  #decoder = beginning;
  #rest: Uint8Array | null = null;

  decode(piece: Uint8Array): string {
    const bytes = this.#rest === null ? piece : joinBytes([this.#rest, piece]);
    const end = bytes.length - unfinishedBytes(bytes);
    // The source may use its memory again.
    this.#rest = end === bytes.length ? null : bytes.slice(end);
    return this.#text(end === bytes.length ? bytes : bytes.subarray(0, end));
  }

  /** Returns what is left: U+FFFD for a character that never became whole. */
  end(): string {
    const rest = this.#rest;
    this.#rest = null;
    return rest === null ? "" : this.#text(rest);
  }

  #text(bytes: Uint8Array): string {
    if (bytes.length === 0) return "";
    const decoder = this.#decoder;
    this.#decoder = following;
    return decoder.decode(bytes);
  }
}

/** Counts the bytes at the end of a piece that may begin a character of which more is to come. */
function unfinishedBytes(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return back < lengthOf(byte) ? back : 0;
  }
  return 0;
}

/** Returns how many bytes a character has, by its first one. */
function lengthOf(first: number): number {
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
}
