import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { Redactor, StreamRedactor } from "../../ground/log/redact.ts";
import type { ByteReader } from "../../ground/platform/files/byte-reader.ts";
import { joinBytes } from "../../ground/platform/files/join-bytes.ts";

/** UTF-16 units of one piece. */
const maxPiece = 64 * 1024;

/** The streams that a session's adapter may read: outputs of programs and bodies of responses. */
export class StreamTable {
  #streams = new Map<number, TextStream>();
  #lastId = 0;
  readonly #most: number;

  readonly #redactor: Redactor | null;

  /** @param options `most`: streams that may be open at once; `redactor` redacts secrets in every stream */
  constructor({ most, redactor = null }: { most: number; redactor?: Redactor | null }) {
    this.#most = most;
    this.#redactor = redactor;
  }

  /**
   * Opens a stream over bytes and returns its id.
   * @throws {BulkheadError} `limit_exceeded` when too many are open
   */
  add(source: ByteReader): number {
    if (this.#streams.size >= this.#most) this.#dropForgotten();
    const id = ++this.#lastId;
    this.#streams.set(id, new TextStream(source, this.#redactor?.stream() ?? null));
    return id;
  }

  /** The next piece, or null from the end on. */
  async read(id: number): Promise<string | null> {
    const stream = this.#streams.get(id);
    if (stream === undefined) return this.#ended(id);
    try {
      const piece = await stream.read();
      if (piece === null) this.#streams.delete(id);
      return piece;
    } catch (error) {
      if (stream.failed) this.#streams.delete(id);
      throw error;
    }
  }

  /** Closes a stream that its reader has left. */
  close(id: number): void {
    const stream = this.#streams.get(id);
    if (stream === undefined) return void this.#ended(id);
    this.#streams.delete(id);
    stream.close();
  }

  closeAll(): void {
    for (const stream of this.#streams.values()) stream.close();
    this.#streams.clear();
  }

  #ended(id: number): null {
    if (id <= this.#lastId) return null;
    throw new BulkheadError("not_found", `Cannot read stream ${id}: the session has no such stream.`);
  }

  /** Drops unread output of programs that are gone, which would pile up in a long session. */
  #dropForgotten(): void {
    for (const [id, stream] of this.#streams) {
      if (!stream.forgotten) continue;
      this.#streams.delete(id);
      stream.close();
      return;
    }
    throw new BulkheadError("limit_exceeded", `Cannot open another stream: ${this.#most} are open and not read out.`);
  }
}

/** Decodes bytes as they come; a broken sequence becomes U+FFFD, so that no piece holds half a character. */
class TextStream {
  #source: ByteReader;
  #redactor: StreamRedactor | null;
  #decoder: PieceDecoder | null = new PieceDecoder();
  #text = "";
  #touched = false;
  #reading = false;
  failed = false;

  constructor(source: ByteReader, redactor: StreamRedactor | null) {
    this.#source = source;
    this.#redactor = redactor;
  }

  get forgotten(): boolean {
    return !this.#touched && this.#source.ended;
  }

  async read(): Promise<string | null> {
    if (this.#reading) {
      throw new BulkheadError("invalid_request", "Cannot read a stream twice at once: the first read still waits.");
    }
    this.#touched = true;
    this.#reading = true;
    try {
      while (this.#text === "" && this.#decoder !== null) await this.#pull(this.#decoder);
      return this.#text === "" ? null : this.#cut();
    } catch (error) {
      this.failed = true;
      throw error;
    } finally {
      this.#reading = false;
    }
  }

  close(): void {
    this.#source.cancel();
  }

  async #pull(decoder: PieceDecoder): Promise<void> {
    const bytes = await this.#source.read();
    if (bytes === null) {
      this.#decoder = null;
      this.#text += this.#redacted(decoder.end()) + (this.#redactor?.end() ?? "");
    } else {
      this.#text += this.#redacted(decoder.decode(bytes));
    }
  }

  #redacted(text: string): string {
    return this.#redactor?.push(text) ?? text;
  }

  #cut(): string {
    let end = Math.min(this.#text.length, maxPiece);
    const last = this.#text.charCodeAt(end - 1);
    if (end < this.#text.length && last >= 0xd800 && last <= 0xdbff) end -= 1;
    const piece = this.#text.slice(0, end);
    this.#text = this.#text.slice(end);
    return piece;
  }
}

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
